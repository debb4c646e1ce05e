// Izhikevich's kernels.
#include "few_instances.cuh"

template struct synfire::cuda::FewInstances<synfire::model::cuda::List<
    synfire::model::cuda::Entry<SYNFIRE_MODEL_IZHIKEVICH, synfire::model::cuda::Izhikevich>>>;
