// EIF's kernels.
#include "few_instances.cuh"

template struct synfire::cuda::FewInstances<
    synfire::model::cuda::List<synfire::model::cuda::Entry<SYNFIRE_MODEL_EIF, synfire::model::cuda::Eif>>>;
