// The kernels of the current-based models.
#include "few_instances.cuh"

template struct synfire::cuda::FewInstances<synfire::model::cuda::CubaModels>;
