// The functions of synfire.h for batches of a data set.
#include "calls.hpp"

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
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::gather_rows(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_shuffle(synfire_context context, const synfire_shuffle_desc* desc,
                                            synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::shuffle(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_gather_rows(synfire_graph graph,
                                                             const synfire_gather_rows_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::gather_rows(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_shuffle(synfire_graph graph,
                                                         const synfire_shuffle_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_shuffle(target, request_of(given));
  });
}

}  // extern "C"
