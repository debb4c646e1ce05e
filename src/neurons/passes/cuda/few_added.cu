// The kernels of added models.
#include "few_instances.cuh"

template struct synfire::cuda::FewInstances<synfire::model::cuda::AddedModels>;
