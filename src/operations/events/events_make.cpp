// Turns requests about events into checked operations.
#include "events.hpp"
#include "events_order.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/host_places.hpp>
#include <operations/spikes/spike_views.hpp>

#include <algorithm>
#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int64_t most_u32 = 0xFFFFFFFF;
constexpr int64_t most_events = 0x7FFFFFFF;
// A cell to which every event adds 64 has a sum below 2^32.
constexpr int64_t most_bilinear_events = (int64_t{1} << 26) - 1;
constexpr int64_t default_ticks = 1000;
constexpr int64_t longest_sensor = int64_t{1} << 14;
constexpr int64_t largest_f32_count = int64_t{1} << 24;

void check_between(const char* rule, const char* name, int64_t value, int64_t least, int64_t most,
                   const char* otherwise = "") {
  if (value < least || value > most)
    fail_argument(rule, "desc.%s is %lld; %lld to %lld are allowed%s", name, static_cast<long long>(value),
                  static_cast<long long>(least), static_cast<long long>(most), otherwise);
}

// ---- space ----------------------------------------------------------------------------------------------------------

struct EventsAxisFields {
  const char *sensor_name, *first_name, *length_name, *range_name, *downsample_name, *flip_name;
  int64_t sensor, first, length, range, downsample;
  double flip;
};

uint32_t multiplier_of(int64_t downsample) {
  constexpr int64_t one = int64_t{1} << cell_shift;
  return static_cast<uint32_t>((one + downsample - 1) / downsample);
}

EventsAxis events_axis_of(const EventsAxisFields& f) {
  check_between("SYN-BIN-SENSOR", f.sensor_name, f.sensor, 1, longest_sensor);
  check_between("SYN-BIN-CROP", f.first_name, f.first, 0, f.sensor - 1);
  check_between("SYN-BIN-CROP", f.range_name, f.range, 0, f.sensor - 1 - f.first);
  const int64_t left = f.sensor - f.first - f.range;
  check_between("SYN-BIN-CROP", f.length_name, f.length, 0, left, " (0 means all that are left)");
  check_between("SYN-BIN-DOWNSAMPLE", f.downsample_name, f.downsample, 0, longest_sensor, " (0 means 1)");
  if (!(f.flip >= 0 && f.flip <= 1))
    fail_argument("SYN-BIN-FLIP", "desc.%s is %g; a probability from 0 to 1 is needed", f.flip_name, f.flip);
  const int64_t length = f.length == 0 ? left : f.length, downsample = f.downsample == 0 ? 1 : f.downsample;
  EventsAxis axis = {};
  axis.sensor = static_cast<uint32_t>(f.sensor);
  axis.first = static_cast<uint32_t>(f.first);
  axis.range = static_cast<uint32_t>(f.range);
  axis.length = static_cast<uint32_t>(length);
  axis.n_cells = static_cast<uint32_t>((length + downsample - 1) / downsample);
  axis.multiplier = multiplier_of(downsample);
  axis.mirror_below = static_cast<uint64_t>(f.flip * 4294967296.0);
  return axis;
}

// ---- time -----------------------------------------------------------------------------------------------------------

void check_split(const BinEventsRequest& r) {
  check_between("SYN-BIN-SHAPE", "n_steps", r.n_steps, 1, most_events);
  check_between("SYN-BIN-CAPACITY", "capacity", r.capacity, 1, r.bilinear ? most_bilinear_events : most_events);
  if (r.by_count) {
    if (r.ticks_per_step != 0)
      fail_argument("SYN-BIN-TICKS", "desc.ticks_per_step is %lld; by count, it must be 0",
                    static_cast<long long>(r.ticks_per_step));
    check_between("SYN-BIN-EVENTS", "events_per_step", r.events_per_step, 0, most_events,
                  " (0 divides the events evenly)");
    if (r.bilinear) fail_argument("SYN-BIN-BILINEAR", "desc.bilinear is 1; by count, it must be 0");
    return;
  }
  if (r.events_per_step != 0)
    fail_argument("SYN-BIN-EVENTS", "desc.events_per_step is %lld; by time, it must be 0",
                  static_cast<long long>(r.events_per_step));
  if (!r.window)
    return check_between("SYN-BIN-TICKS", "ticks_per_step", r.ticks_per_step, 0, most_u32, " (0 means 1000)");
  if (r.ticks_per_step != 0)
    fail_argument("SYN-BIN-TICKS", "desc.ticks_per_step is %lld; it must be 0, because desc.window has the ticks",
                  static_cast<long long>(r.ticks_per_step));
}

// ---- counts ---------------------------------------------------------------------------------------------------------

constexpr int32_t result_dtypes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32};

void set_bound(EventsRules& rules, const BinEventsRequest& r) {
  const int32_t dtype = r.destination->dtype();
  check_type(*r.destination, "desc.destination", result_dtypes);
  if (r.bilinear && dtype != SYNFIRE_DTYPE_F32)
    fail_argument("SYN-BIN-BILINEAR", "desc.destination holds %s; with desc.bilinear it must hold f32",
                  name_of_dtype(dtype));
  const bool is_f32 = dtype == SYNFIRE_DTYPE_F32;
  check_between("SYN-BIN-BOUND", "count_bound", r.count_bound, 0,
                is_f32                      ? largest_f32_count
                : dtype == SYNFIRE_DTYPE_U8 ? 255
                                            : 1,
                is_f32 ? " (0 means no bound)" : " (0 means 1)");
  const auto bound = static_cast<uint32_t>(r.count_bound == 0 && !is_f32 ? 1 : r.count_bound);
  rules.bilinear = r.bilinear;
  rules.bound = bound == 0 ? no_bound : r.bilinear ? bound * bilinear_unit : bound;
  rules.counts_bounded = bound != 0 && (bound > 1 || r.bilinear);
}

EventsRules rules_of(const BinEventsRequest& r) {
  EventsRules rules = {};
  check_split(r);
  rules.y = events_axis_of({"sensor_height", "crop_top", "crop_height", "crop_range_y", "downsample_y", "flip_y",
                            r.sensor_height, r.crop_top, r.crop_height, r.crop_range_y, r.downsample_y, r.flip_y});
  rules.x = events_axis_of({"sensor_width", "crop_left", "crop_width", "crop_range_x", "downsample_x", "flip_x",
                            r.sensor_width, r.crop_left, r.crop_width, r.crop_range_x, r.downsample_x, r.flip_x});
  rules.n_steps = r.n_steps;
  rules.capacity = static_cast<uint32_t>(r.capacity);
  rules.ticks_per_step = static_cast<uint32_t>(r.ticks_per_step == 0 ? default_ticks : r.ticks_per_step);
  rules.events_per_step = r.events_per_step;
  rules.by_count = r.by_count;
  rules.keep_newest = r.keep_newest;
  rules.sort = r.sort && r.by_count;
  set_bound(rules, r);
  return rules;
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

View typed_array(const Buffer& buffer, const char* name, int32_t dtype, std::initializer_list<int64_t> lengths) {
  check_type(buffer, name, dtype);
  return array_view(buffer, name, lengths);
}

View result_view(const Buffer& buffer, const Extents& e) {
  if (buffer.dtype() == SYNFIRE_DTYPE_BITS) return spike_view(buffer, "desc.destination", e);
  return stepped(buffer, "desc.destination", {e.n_steps, e.batch, e.n_neurons},
                 std::string(name_of_dtype(buffer.dtype())).append(" ").append(shape_text(e)));
}

View scratch_of(uint64_t bytes) {
  View view;
  view.dtype = SYNFIRE_DTYPE_U8;
  view.bytes = bytes;
  return view;
}

void set_scratch(BinEvents& op, const Device& device) {
  if (device.is_host()) {
    const int64_t batch = op.extents.batch;
    const bool shared = wants_threads(op);
    op.sums = places_for(device, batch, shared, bytes_of_host_sums(op));
    if (op.rules.sort) op.order = places_for(device, batch, shared, bytes_of_host_order(op));
    return;
  }
  op.sums = scratch_of(4 * static_cast<uint64_t>(op.extents.n_steps * op.extents.row()));
  if (op.rules.sort) op.order = scratch_of(EventsOrder{op.extents.batch * op.rules.capacity}.bytes());
}

}  // namespace

OperationLabel label(const BinEvents& op) {
  char text[160];
  const EventsRules& rules = op.rules;
  std::snprintf(text, sizeof text, "[%lld, %u] to [%lld, %lld, %u x %u x 2], by %s",
                static_cast<long long>(op.extents.batch), rules.capacity, static_cast<long long>(op.extents.n_steps),
                static_cast<long long>(op.extents.batch), rules.y.n_cells, rules.x.n_cells,
                rules.by_count ? "count" : "time");
  return {nullptr, text};
}

OperationList bin_events(const BinEventsRequest& request) {
  BinEvents op = {};
  op.rules = rules_of(request);
  const int64_t batch = request.batch == 0 ? 1 : request.batch;
  check_between("SYN-BIN-SHAPE", "batch", batch, 1, most_u32, " (0 means 1)");
  op.extents = checked_extents({op.rules.n_steps, batch, op.rules.n_elements()});
  op.events = typed_array(*request.events, "desc.events", SYNFIRE_DTYPE_U64, {batch, request.capacity});
  op.event_counts = typed_array(*request.event_counts, "desc.event_counts", SYNFIRE_DTYPE_U32, {1, batch});
  if (request.window) op.window = typed_array(*request.window, "desc.window", SYNFIRE_DTYPE_U32, {1, batch, 2});
  op.destination = result_view(*request.destination, op.extents);
  op.faults = typed_array(*request.faults, "desc.faults", SYNFIRE_DTYPE_U32, {1, batch, n_event_faults});
  op.seed = request.seed;
  op.offset = request.offset;
  set_scratch(op, request.destination->context()->device());
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList bin_events_now(const BinEventsRequest& request) {
  OperationList operations = bin_events(request);
  if (request.destination->context()->device().is_host()) refuse_faults(*operations.front().as<BinEvents>());
  return operations;
}

void record_bin_events(Graph& graph, const BinEventsRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = bin_events(request);
    BinEvents op = *operations.front().as<BinEvents>();
    op.seed_value = recorder.whole("seed", request.seed);
    op.offset_value = recorder.counted("offset", request.offset);
    return OperationList{op};
  });
}

}  // namespace synfire::operations
