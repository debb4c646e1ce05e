// The functions of synfire.h for events of cameras.
#include "calls.hpp"

#include <operations/events/events.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

operations::BinEventsRequest request_of(const Operands<synfire_bin_events_desc>& given) {
  const synfire_bin_events_desc& desc = given.desc;
  operations::BinEventsRequest request = {};
  request.by_count = desc.split == SYNFIRE_EVENTS_BY_COUNT;
  request.n_steps = desc.n_steps;
  request.capacity = desc.capacity;
  request.sensor_height = desc.sensor_height;
  request.sensor_width = desc.sensor_width;
  request.batch = desc.batch;
  request.ticks_per_step = desc.ticks_per_step;
  request.events_per_step = desc.events_per_step;
  request.crop_top = desc.crop_top;
  request.crop_left = desc.crop_left;
  request.crop_height = desc.crop_height;
  request.crop_width = desc.crop_width;
  request.crop_range_y = desc.crop_range_y;
  request.crop_range_x = desc.crop_range_x;
  request.downsample_y = desc.downsample_y;
  request.downsample_x = desc.downsample_x;
  request.flip_y = desc.flip_y;
  request.flip_x = desc.flip_x;
  request.keep_newest = desc.keep == SYNFIRE_EVENTS_KEEP_NEWEST;
  request.sort = desc.sort == 1;
  request.bilinear = desc.bilinear == 1;
  request.count_bound = desc.count_bound;
  request.events = given.events.get();
  request.event_counts = given.event_counts.get();
  request.window = given.window.get();
  request.destination = given.destination.get();
  request.faults = given.faults.get();
  request.seed = desc.seed;
  request.offset = desc.offset;
  return request;
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_bin_events(synfire_context context, const synfire_bin_events_desc* desc,
                                               synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::bin_events_now(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_bin_events(synfire_graph graph,
                                                            const synfire_bin_events_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_bin_events(target, request_of(given));
  });
}

}  // extern "C"
