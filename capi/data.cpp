// The functions of synfire.h for batches of a data set.
#include "operands.hpp"

#include <operations/gather_rows/gather_rows.hpp>
#include <operations/shuffle/shuffle.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::GatherRowsRequest request_of(const Operands<synfire_gather_rows_desc>& given) {
  return {given.desc.n_rows,   given.desc.n_steps,   given.desc.n_elements,   given.desc.batch,   given.source.get(),
          given.indices.get(), given.n_active.get(), given.destination.get(), given.lengths.get()};
}

operations::ShuffleRequest request_of(const Operands<synfire_shuffle_desc>& given) {
  return {given.desc.n_rows,   given.desc.batch,     given.desc.in_order == 1, given.desc.drop_last == 1,
          given.indices.get(), given.n_active.get(), given.desc.seed,          given.desc.offset};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_gather_rows(synfire_context context, const synfire_gather_rows_desc* desc,
                                                synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_gather_rows_desc> gather(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::gather_rows(request_of(gather), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_shuffle(synfire_context context, const synfire_shuffle_desc* desc,
                                            synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const Operands<synfire_shuffle_desc> shuffle(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::shuffle(request_of(shuffle), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_gather_rows(synfire_graph graph,
                                                             const synfire_gather_rows_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_gather_rows_desc> gather(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::gather_rows(request_of(gather), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_shuffle(synfire_graph graph,
                                                         const synfire_shuffle_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const Operands<synfire_shuffle_desc> shuffle(desc, *target->context());
    operations::record_shuffle(*target, request_of(shuffle));
    return SYNFIRE_OK;
  });
}

}  // extern "C"
