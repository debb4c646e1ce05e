// The functions of synfire.h for batches of a data set. As in synfire.cpp: check, look up, call, translate.
#include "pins.hpp"

#include <operations/gather_rows/gather_rows.hpp>
#include <operations/shuffle/shuffle.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

// The buffers of a gather.
class PinnedGatherRows {
 public:
  PinnedGatherRows(const synfire_gather_rows_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        source_(required(desc_.source, "desc.source", context)),
        indices_(required(desc_.indices, "desc.indices", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)),
        destination_(required(desc_.destination, "desc.destination", context)),
        lengths_(optional(desc_.lengths, "desc.lengths", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
  }
  operations::GatherRowsRequest request() const {
    return {desc_.n_rows,   desc_.n_steps,   desc_.n_elements,   desc_.batch,   source_.get(),
            indices_.get(), n_active_.get(), destination_.get(), lengths_.get()};
  }

 private:
  synfire_gather_rows_desc desc_;
  PinnedBuffer source_, indices_, n_active_, destination_, lengths_;
};

// The buffers of a shuffle.
class PinnedShuffle {
 public:
  PinnedShuffle(const synfire_shuffle_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")),
        indices_(required(desc_.indices, "desc.indices", context)),
        n_active_(optional(desc_.n_active, "desc.n_active", context)) {
    check_reserved(desc_.reserved, "desc.reserved");
    check_flag(desc_.in_order, "desc.in_order");
    check_flag(desc_.drop_last, "desc.drop_last");
  }
  operations::ShuffleRequest request() const {
    return {desc_.n_rows,   desc_.batch,     desc_.in_order == 1, desc_.drop_last == 1,
            indices_.get(), n_active_.get(), desc_.seed,          desc_.offset};
  }

 private:
  static void check_flag(int32_t flag, const char* name) {
    if (flag != 0 && flag != 1) core::fail_argument("SYN-SHUFFLE-FLAG", "%s is %d; allowed are 0 and 1", name, flag);
  }

  synfire_shuffle_desc desc_;
  PinnedBuffer indices_, n_active_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_gather_rows(synfire_context context, const synfire_gather_rows_desc* desc,
                                                synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedGatherRows gather(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::gather_rows(gather.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_shuffle(synfire_context context, const synfire_shuffle_desc* desc,
                                            synfire_stream stream) noexcept {
  return guarded(__func__, [&] {
    const auto owner = pinned(context);
    const PinnedShuffle shuffle(desc, *owner);
    return run_or_captured(
        core::run_now(*owner, operations::shuffle(shuffle.request(), owner->device().is_host()), stream));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_gather_rows(synfire_graph graph,
                                                             const synfire_gather_rows_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedGatherRows gather(desc, *target->context());
    target->record(
        [&](core::Recorder& recorder) { return operations::gather_rows(gather.request(), recorder.on_host()); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_shuffle(synfire_graph graph,
                                                         const synfire_shuffle_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedShuffle shuffle(desc, *target->context());
    operations::record_shuffle(*target, shuffle.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"
