// Events of cameras, binned: against a reference that looks for the step, the cell and the rank of each event by their
// definitions; replays whose numbers of events change; what is counted, and what is refused.
#include <algorithm>
#include <array>
#include <utility>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr size_t n_faults = 5;

struct Event {
  uint32_t t = 0;
  uint32_t x = 0, y = 0, polarity = 0;
};
uint64_t packed(const Event& e) {
  return uint64_t{e.t} | uint64_t{e.x} << 32 | uint64_t{e.y} << 46 | uint64_t{e.polarity} << 60;
}

// ---- The reference --------------------------------------------------------------------------------------------------

using Words4 = std::array<uint32_t, 4>;

// Philox4x32-10, as in encode_test.cpp, which checks it against known answers.
Words4 philox(Words4 x, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key & 0xFFFFFFFFu), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t a = uint64_t{0xD2511F53u} * x[0], b = uint64_t{0xCD9E8D57u} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b & 0xFFFFFFFFu),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a & 0xFFFFFFFFu)};
  }
  return x;
}

int64_t rounded_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// A descriptor, and the events of each row; the buffers are made from it.
struct Case {
  synfire_bin_events_desc desc = SYNFIRE_BIN_EVENTS_DESC_INIT;
  std::vector<std::vector<Event>> rows = {};               // in the order of their arrival
  std::vector<std::pair<uint32_t, uint32_t>> window = {};  // none, or of each row
  int32_t dtype = SYNFIRE_DTYPE_F32;

  int64_t batch() const { return desc.batch == 0 ? 1 : desc.batch; }
  int64_t crop(int64_t sensor, int64_t first, int64_t range, int64_t given) const {
    return given == 0 ? sensor - first - range : given;
  }
  int64_t crop_height() const { return crop(desc.sensor_height, desc.crop_top, desc.crop_range_y, desc.crop_height); }
  int64_t crop_width() const { return crop(desc.sensor_width, desc.crop_left, desc.crop_range_x, desc.crop_width); }
  int64_t cell_height() const { return std::max<int64_t>(desc.downsample_y, 1); }
  int64_t cell_width() const { return std::max<int64_t>(desc.downsample_x, 1); }
  int64_t height() const { return rounded_up(crop_height(), cell_height()); }
  int64_t width() const { return rounded_up(crop_width(), cell_width()); }
  Shape shape() const { return {desc.n_steps, batch(), height() * width() * 2}; }
};

struct Result {
  std::vector<double> elements;  // [T, B, N]
  std::vector<uint32_t> faults;  // [B, 5]
};

// The events that the buffer holds, oldest first.
std::vector<Event> held(const Case& c, const std::vector<Event>& all) {
  const auto capacity = static_cast<size_t>(c.desc.capacity);
  if (all.size() <= capacity) return all;
  const auto most = static_cast<std::ptrdiff_t>(capacity);
  return c.desc.keep == SYNFIRE_EVENTS_KEEP_NEWEST ? std::vector<Event>(all.end() - most, all.end())
                                                   : std::vector<Event>(all.begin(), all.begin() + most);
}

// The first step that ends after the event.
int64_t step_by_time(const Case& c, uint32_t after_start, uint32_t ticks) {
  if (ticks == 0) return c.desc.n_steps;
  int64_t step = 0;
  while (step < c.desc.n_steps && uint64_t{after_start} >= static_cast<uint64_t>(step + 1) * ticks) ++step;
  return step;
}
// The step whose share of the events has the one of this number.
int64_t step_by_count(const Case& c, size_t i, size_t n) {
  int64_t step = 0;
  while (step < c.desc.n_steps) {
    const size_t end = c.desc.events_per_step != 0 ? static_cast<size_t>((step + 1) * c.desc.events_per_step) : 0;
    if (end != 0 ? i < end : i * static_cast<size_t>(c.desc.n_steps) < static_cast<size_t>(step + 1) * n) break;
    ++step;
  }
  return step;
}

Result reference(const Case& c, uint64_t offset) {
  const auto n_steps = static_cast<size_t>(c.desc.n_steps), batch = static_cast<size_t>(c.batch());
  const auto n = static_cast<size_t>(c.shape().n_neurons);
  Result result = {std::vector<double>(n_steps * batch * n), std::vector<uint32_t>(batch * n_faults)};
  for (size_t b = 0; b < batch; ++b) {
    uint32_t* const faults = &result.faults[b * n_faults];
    const uint32_t start = c.window.empty() ? 0 : c.window[b].first;
    const uint32_t given_ticks = static_cast<uint32_t>(c.desc.ticks_per_step == 0 ? 1000 : c.desc.ticks_per_step);
    const uint32_t ticks = c.window.empty() ? given_ticks : c.window[b].second;
    const Words4 drawn = philox({0x746E7665u, static_cast<uint32_t>(b), static_cast<uint32_t>(offset & 0xFFFFFFFFu),
                                 static_cast<uint32_t>(offset >> 32)},
                                c.desc.seed);
    const auto moved = [](int64_t first, uint32_t word, int64_t range) {
      return first + static_cast<int64_t>(uint64_t{word} * static_cast<uint64_t>(range + 1) >> 32);
    };
    const int64_t top = moved(c.desc.crop_top, drawn[2], c.desc.crop_range_y);
    const int64_t left = moved(c.desc.crop_left, drawn[3], c.desc.crop_range_x);
    std::vector<Event> events = held(c, c.rows[b]);
    faults[SYNFIRE_EVENTS_FAULT_CAPACITY] = static_cast<uint32_t>(c.rows[b].size() - events.size());
    const bool by_count = c.desc.split == SYNFIRE_EVENTS_BY_COUNT;
    if (by_count && c.desc.sort == 0)
      for (size_t i = 1; i < events.size(); ++i)
        if (const uint32_t back = events[i - 1].t - events[i].t; back != 0 && back <= 0x80000000u)
          ++faults[SYNFIRE_EVENTS_FAULT_ORDER];
    if (by_count && c.desc.sort == 1)
      std::stable_sort(events.begin(), events.end(),
                       [&](const Event& a, const Event& z) { return a.t - start < z.t - start; });
    std::vector<double> sums(n_steps * n);  // in units of 1/64 with bilinear
    for (size_t i = 0; i < events.size(); ++i) {
      const Event& e = events[i];
      if (e.x >= c.desc.sensor_width || e.y >= c.desc.sensor_height || e.polarity > 1) {
        ++faults[SYNFIRE_EVENTS_FAULT_SENSOR];
        continue;
      }
      const int64_t step = by_count ? step_by_count(c, i, events.size()) : step_by_time(c, e.t - start, ticks);
      if (step == c.desc.n_steps) {
        ++faults[SYNFIRE_EVENTS_FAULT_WINDOW];
        continue;
      }
      int64_t y = e.y - top, x = e.x - left;
      if (y < 0 || x < 0 || y >= c.crop_height() || x >= c.crop_width()) continue;
      y /= c.cell_height();
      x /= c.cell_width();
      if (drawn[1] < std::floor(c.desc.flip_y * 0x1p32)) y = c.height() - 1 - y;
      if (drawn[0] < std::floor(c.desc.flip_x * 0x1p32)) x = c.width() - 1 - x;
      const auto element = static_cast<size_t>((y * c.width() + x) * 2 + e.polarity);
      const auto at = static_cast<size_t>(step) * n + element;
      if (c.desc.bilinear == 0) {
        sums[at] += 1;
        continue;
      }
      const double part = static_cast<double>((e.t - start) - static_cast<uint64_t>(step) * ticks) / ticks;
      const double next = std::floor(64 * part + 0.5);
      sums[at] += 64 - next;
      if (step + 1 < c.desc.n_steps) sums[at + n] += next;
    }
    const double unit = c.desc.bilinear == 1 ? 64 : 1;
    const bool is_f32 = c.dtype == SYNFIRE_DTYPE_F32;
    const double bound = c.desc.count_bound == 0 ? (is_f32 ? 1e30 : 1) : c.desc.count_bound;
    for (size_t t = 0; t < n_steps; ++t)
      for (size_t i = 0; i < n; ++i) {
        const double sum = sums[t * n + i] / unit;
        if (sum > bound && (bound > 1 || c.desc.bilinear == 1)) ++faults[SYNFIRE_EVENTS_FAULT_BOUND];
        result.elements[(t * batch + b) * n + i] = static_cast<double>(static_cast<float>(std::min(sum, bound)));
      }
  }
  return result;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

// Rows of events, `padding` elements apart.
Buffer make_events(synfire_context context, size_t batch, size_t capacity, size_t padding) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = SYNFIRE_DTYPE_U64;
  desc.n_elements = batch * (capacity + padding);
  desc.row_pitch = padding == 0 ? 0 : capacity + padding;
  synfire_buffer handle = nullptr;
  EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
  return Buffer(handle);
}

// Buffers for a case, whose events and windows may be replaced by those of another one.
class Binning {
 public:
  explicit Binning(synfire_context context, const Case& c, Placement placement = {})
      : padding_(placement.padding),
        events_(make_events(context, c.rows.size(), static_cast<size_t>(c.desc.capacity), padding_)),
        counts_(make_buffer(context, SYNFIRE_DTYPE_U32, c.rows.size())),
        result_(context, c.dtype, static_cast<size_t>(c.desc.n_steps),
                c.dtype == SYNFIRE_DTYPE_BITS ? c.rows.size() * c.shape().words_per_row() : c.shape().row(), placement),
        faults_(make_buffer(context, SYNFIRE_DTYPE_U32, c.rows.size() * n_faults)) {
    if (!c.window.empty()) window_ = make_buffer(context, SYNFIRE_DTYPE_U32, 2 * c.rows.size());
    upload(faults_, std::vector<uint32_t>(c.rows.size() * n_faults, 77));
    put(c);
  }

  synfire_bin_events_desc desc() const {
    synfire_bin_events_desc desc = c_.desc;
    desc.events = events_;
    desc.event_counts = counts_;
    desc.window = window_;
    desc.destination = result_;
    desc.faults = faults_;
    return desc;
  }

  // A ring has event i at index i mod capacity, another buffer at index i while there is room. Other places hold events
  // that would show.
  void put(const Case& c) {
    c_ = c;
    const auto capacity = static_cast<size_t>(c.desc.capacity), pitch = capacity + padding_;
    std::vector<uint64_t> array(c.rows.size() * pitch, packed({0, 0, 0, 1}));
    std::vector<uint32_t> counts, window;
    for (size_t b = 0; b < c.rows.size(); ++b) {
      const auto& row = c.rows[b];
      for (size_t i = 0; i < row.size(); ++i)
        if (i < capacity || c.desc.keep == SYNFIRE_EVENTS_KEEP_NEWEST) array[b * pitch + i % capacity] = packed(row[i]);
      counts.push_back(static_cast<uint32_t>(row.size()));
    }
    for (const auto& one : c.window) {
      window.push_back(one.first);
      window.push_back(one.second);
    }
    upload(events_, array);
    upload(counts_, counts);
    if (!window.empty()) upload(window_, window);
  }
  void put_counts(const std::vector<uint32_t>& counts) { upload(counts_, counts); }

  std::vector<uint32_t> faults() const { return download<uint32_t>(faults_, c_.rows.size() * n_faults); }
  std::vector<double> elements() const { return result_.get(); }

  testing::AssertionResult is(const Result& expected) const {
    if (c_.dtype == SYNFIRE_DTYPE_BITS) {
      if (result_.words() != pack_bits(c_.shape(), expected.elements)) return testing::AssertionFailure() << "spikes";
    } else if (auto same = same_bits(elements(), expected.elements); !same) {
      return same;
    }
    if (faults() != expected.faults)
      return testing::AssertionFailure() << "faults " << testing::PrintToString(faults()) << ", not "
                                         << testing::PrintToString(expected.faults);
    return testing::AssertionSuccess();
  }

 private:
  Case c_;
  size_t padding_;
  Buffer events_, counts_, window_;
  Rows result_;
  Buffer faults_;
};

int32_t record(synfire_graph graph, const synfire_bin_events_desc& desc) {
  EXPECT_OK(synfire_graph_record_bin_events(graph, &desc));
  int32_t operation = -1;
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  return operation;
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

// Events mostly in the sensor and in the window, many of them in a few cells, mostly in the order of their times.
std::vector<Event> random_events(Random& random, const Case& c, size_t count, uint32_t start, uint32_t span) {
  std::vector<Event> events(count);
  uint32_t t = start - span / 16;
  const uint32_t mean = count == 0 ? 1 : span / static_cast<uint32_t>(count) + 1;
  for (Event& e : events) {
    t += static_cast<uint32_t>(random.whole(0, 2 * mean + 1));
    const auto inside = [&](int64_t length) {
      return static_cast<uint32_t>(random.whole(0, 3) == 0 ? length / 2 : random.whole(0, length - 1));
    };
    e = {t, inside(c.desc.sensor_width), inside(c.desc.sensor_height), static_cast<uint32_t>(random.whole(0, 1))};
    const int64_t odd = random.whole(0, 63);
    if (odd == 0) e.x = static_cast<uint32_t>(random.whole(0, 16383));
    if (odd == 1) e.y = static_cast<uint32_t>(random.whole(0, 16383));
    if (odd == 2) e.polarity = static_cast<uint32_t>(random.whole(0, 15));
    if (odd == 3) e.t = static_cast<uint32_t>(random.next() & 0xFFFFFFFFu);
  }
  return events;
}

// New events and windows for the rows of a case.
void renew(Random& random, Case& c) {
  const auto batch = static_cast<size_t>(c.batch());
  const bool has_window = !c.window.empty();
  c.rows.clear();
  c.window.clear();
  for (size_t b = 0; b < batch; ++b) {
    const auto ticks = static_cast<uint32_t>(random.whole(1, 900));
    const auto start = static_cast<uint32_t>(random.whole(0, 1) == 0 ? 0xFFFFFF00u : random.next() & 0xFFFFFFu);
    if (has_window) c.window.emplace_back(start, random.whole(0, 15) == 0 ? 0 : ticks);
    const int64_t most = c.desc.capacity + c.desc.capacity / 2 + 2;
    const auto count = static_cast<size_t>(random.whole(0, 4) == 0 ? random.whole(0, 1) : random.whole(0, most));
    c.rows.push_back(random_events(random, c, count, has_window ? start : 0,
                                   static_cast<uint32_t>(c.desc.n_steps) * (has_window ? ticks : 1000)));
  }
}

// The k-th way to bin: all types, splits and options, with odd lengths.
Case random_case(Random& random, uint64_t k) {
  Case c;
  const int32_t dtypes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32};
  const int64_t heights[] = {1, 7, 34, 65}, widths[] = {1, 5, 34, 31};
  c.dtype = dtypes[k % 3];
  c.desc.n_steps = k % 5 == 0 ? 1 : random.whole(2, 9);
  c.desc.batch = k % 4 == 0 ? 0 : random.whole(2, 5);
  c.desc.capacity = k % 7 == 0 ? 1 : random.whole(2, 700);
  c.desc.sensor_height = heights[random.whole(0, 3)];
  c.desc.sensor_width = widths[random.whole(0, 3)];
  c.desc.split = k % 2 == 0 ? SYNFIRE_EVENTS_BY_TIME : SYNFIRE_EVENTS_BY_COUNT;
  const bool by_time = c.desc.split == SYNFIRE_EVENTS_BY_TIME;
  if (by_time && c.dtype == SYNFIRE_DTYPE_F32) c.desc.bilinear = random.whole(0, 1) == 0 ? 0 : 1;
  if (!by_time && random.whole(0, 1) == 0) c.desc.events_per_step = random.whole(1, 90);
  c.desc.sort = random.whole(0, 1) == 0 ? 0 : 1;
  c.desc.keep = random.whole(0, 1) == 0 ? SYNFIRE_EVENTS_KEEP_OLDEST : SYNFIRE_EVENTS_KEEP_NEWEST;
  if (c.dtype != SYNFIRE_DTYPE_BITS && random.whole(0, 2) != 0)
    c.desc.count_bound = static_cast<int32_t>(random.whole(1, 3));
  if (random.whole(0, 1) == 0) {
    c.desc.crop_top = random.whole(0, c.desc.sensor_height - 1);
    c.desc.crop_range_y = random.whole(0, c.desc.sensor_height - 1 - c.desc.crop_top);
    c.desc.crop_left = random.whole(0, c.desc.sensor_width - 1);
    c.desc.crop_width = random.whole(1, c.desc.sensor_width - c.desc.crop_left);
  }
  c.desc.downsample_y = random.whole(0, 4);
  c.desc.downsample_x = random.whole(0, 3);
  c.desc.flip_y = std::max(0.0, random.uniform(-1, 1));
  c.desc.flip_x = std::min(1.0, random.uniform(0, 2));
  c.desc.seed = random.next();
  const uint64_t offsets[] = {0, 0xFFFFFFFFu, ~uint64_t{0}, random.next()};
  c.desc.offset = offsets[k % 4];
  if (random.whole(0, 1) == 0) c.window.resize(1);
  renew(random, c);
  return c;
}

class BinEvents : public testing::Test {
 protected:
  const Context context = make_context();
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  const synfire_bin_events_desc& d = c.desc;
  return out << "T " << d.n_steps << " B " << c.batch() << " capacity " << d.capacity << " sensor " << d.sensor_height
             << " x " << d.sensor_width << " dtype " << c.dtype << (d.split == 0 ? " by time" : " by count") << " sort "
             << d.sort << " bilinear " << d.bilinear << " keep " << d.keep << " bound " << d.count_bound;
}

// ---- Bins -----------------------------------------------------------------------------------------------------------

// Three replays of each graph, whose numbers of events, windows and augmentations differ.
TEST_F(BinEvents, EveryElementIsThatOfTheReference) {
  const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};
  for (uint64_t k = 0; k < 120; ++k) {
    if (!sampled(k)) continue;
    Random random(k + 1);
    Case c = random_case(random, k);
    SCOPED_TRACE(testing::Message() << "case " << k << ": " << c);
    Binning binning(context, c, placements[k % 5]);
    const Graph graph = make_graph(context);
    record(graph, binning.desc());
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (uint64_t again = 0; again < 3; ++again) {
      replay(graph);
      ASSERT_TRUE(binning.is(reference(c, c.desc.offset + again))) << "replay " << again;
      renew(random, c);
      binning.put(c);
    }
  }
}

// The numbers of one recording, by hand: three steps of 10 ticks on a sensor of 2 x 3.
TEST_F(BinEvents, ByHand) {
  Case c;
  c.desc.n_steps = 3;
  c.desc.capacity = 8;
  c.desc.sensor_height = 2;
  c.desc.sensor_width = 3;
  c.desc.ticks_per_step = 10;
  c.rows = {{{0, 0, 0, 1}, {9, 0, 0, 1}, {10, 2, 1, 0}, {25, 1, 0, 0}, {29, 1, 0, 0}, {30, 0, 0, 0}}};
  std::vector<double> expected(36);
  expected[1] = 2;        // step 0, y 0, x 0, on
  expected[12 + 10] = 1;  // step 1, y 1, x 2, off
  expected[24 + 2] = 2;   // step 2, y 0, x 1, off
  const Binning counted(context, c);
  const auto desc = counted.desc();
  ASSERT_OK(synfire_bin_events(context, &desc, nullptr));
  EXPECT_EQ(counted.elements(), expected);
  EXPECT_EQ(counted.faults(), (std::vector<uint32_t>{0, 1, 0, 0, 0})) << "the event at 30 is after the last step";
  c.desc.bilinear = 1;
  expected.assign(36, 0.0);
  expected[1] = 1 + (64 - 58) / 64.0;  // 9 of 10 ticks: 57.6 sixty-fourths
  expected[12 + 1] = 58 / 64.0;
  expected[12 + 10] = 1;
  expected[24 + 2] = 0.5 + (64 - 58) / 64.0;
  const Binning weighted(context, c);
  const auto bilinear = weighted.desc();
  ASSERT_OK(synfire_bin_events(context, &bilinear, nullptr));
  EXPECT_EQ(weighted.elements(), expected);
}

// By time, neither the order of the events nor the number of threads changes anything. By count with `sort`, neither
// does the order of events with different times.
TEST_F(BinEvents, TheOrderOfEventsDoesNotMatter) {
  const Context threads = make_context(4);
  Random random(2);
  for (const int32_t split : {SYNFIRE_EVENTS_BY_TIME, SYNFIRE_EVENTS_BY_COUNT}) {
    Case c;
    c.desc.split = split;
    c.desc.sort = 1;
    c.desc.n_steps = 5;
    c.desc.batch = 9;
    c.desc.capacity = 3000;
    c.desc.sensor_height = 31;
    c.desc.sensor_width = 33;
    c.rows.resize(9);
    for (auto& row : c.rows)
      for (uint32_t i = 0; i < 3000; ++i)
        row.push_back(
            {2 * i, static_cast<uint32_t>(random.whole(0, 32)), static_cast<uint32_t>(random.whole(0, 30)), i % 2});
    const Result expected = reference(c, 0);
    for (auto& row : c.rows)
      for (size_t i = row.size(); i > 1; --i)
        std::swap(row[i - 1], row[static_cast<size_t>(random.whole(0, static_cast<int64_t>(i) - 1))]);
    for (const synfire_context on : {context.get(), threads.get()}) {
      const Binning binning(on, c);
      const Graph graph = make_graph(on);
      record(graph, binning.desc());
      ASSERT_OK(synfire_graph_instantiate(graph));
      replay(graph);
      EXPECT_TRUE(binning.is(expected));
    }
  }
}

// Sums of weights beyond 2^24 are rounded once.
TEST_F(BinEvents, OneRounding) {
  Case c;
  c.desc.n_steps = 2;
  c.desc.capacity = (1 << 18) + 1;
  c.desc.sensor_height = c.desc.sensor_width = 1;
  c.desc.ticks_per_step = 64;
  c.desc.bilinear = 1;
  c.rows = {std::vector<Event>(static_cast<size_t>(c.desc.capacity), Event{0, 0, 0, 1})};
  c.rows[0].back().t = 33;
  const Binning binning(context, c);
  const auto desc = binning.desc();
  ASSERT_OK(synfire_bin_events(context, &desc, nullptr));
  // 2^24 + 31 sixty-fourths: f32 has multiples of 2 there.
  EXPECT_EQ(binning.elements(), (std::vector<double>{0, ((1 << 24) + 32) / 64.0, 0, 33 / 64.0}));
}

// ---- Replays --------------------------------------------------------------------------------------------------------

// A program writes its events into pinned memory and launches: each replay has another number of them, from none to
// more than fit.
TEST_F(BinEvents, TheNumberOfEventsChangesFromReplayToReplay) {
  Case c;
  c.desc.n_steps = 1;
  c.desc.capacity = 4;
  c.desc.sensor_height = 1;
  c.desc.sensor_width = 3;
  c.desc.keep = SYNFIRE_EVENTS_KEEP_NEWEST;
  const Buffer events = make_frame(context, 4, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U64);
  const Buffer counts = make_frame(context, 1, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  const Buffer window = make_frame(context, 2, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  const Buffer result = make_frame(context, 6, SYNFIRE_MEMORY_PINNED);
  const Buffer faults = make_frame(context, 5, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  synfire_bin_events_desc desc = c.desc;
  desc.events = events;
  desc.event_counts = counts;
  desc.window = window;
  desc.destination = result;
  desc.faults = faults;
  const Graph graph = make_slotted_graph(context, 2);
  record(graph, desc);
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint32_t n = 0; n < 9; ++n) {
    const uint32_t now = 0xFFFFFFF0u + 5 * n;  // the clock wraps
    auto* const to = reinterpret_cast<uint64_t*>(slot_of(graph, 0, events));
    for (uint32_t i = 0; i < n; ++i) to[i % 4] = packed({now + i, i % 3, 0, 1});
    auto* const row = reinterpret_cast<uint32_t*>(slot_of(graph, 0, window));
    row[0] = now;
    row[1] = 5;
    *reinterpret_cast<uint32_t*>(slot_of(graph, 0, counts)) = n;
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    std::vector<float> expected(6);
    uint32_t late = 0;
    for (uint32_t i = n > 4 ? n - 4 : 0; i < n; ++i) {
      if (i < 5)
        expected[2 * (i % 3) + 1] += 1;
      else
        ++late;
    }
    const float* const got = slot_of(graph, ticket, result);
    EXPECT_EQ(std::vector<float>(got, got + 6), expected) << n << " events";
    const auto* const found = reinterpret_cast<const uint32_t*>(slot_of(graph, ticket, faults));
    EXPECT_EQ(std::vector<uint32_t>(found, found + 5), (std::vector<uint32_t>{0, late, n > 4 ? n - 4 : 0, 0, 0}));
  }
}

TEST_F(BinEvents, AnyBitsOfEventsAndAnyNumberOfThem) {
  Random random(3);
  for (const int32_t keep : {SYNFIRE_EVENTS_KEEP_OLDEST, SYNFIRE_EVENTS_KEEP_NEWEST}) {
    Case c;
    c.desc.keep = keep;
    c.desc.split = SYNFIRE_EVENTS_BY_COUNT;
    c.desc.n_steps = 3;
    c.desc.capacity = 257;
    c.desc.sensor_height = 9000;
    c.desc.sensor_width = 16384;
    c.desc.downsample_y = c.desc.downsample_x = 1000;
    c.rows.resize(1);
    for (int i = 0; i < 257; ++i) {
      const uint64_t bits = random.next();
      c.rows[0].push_back({static_cast<uint32_t>(bits & 0xFFFFFFFFu), static_cast<uint32_t>(bits >> 32 & 0x3FFF),
                           static_cast<uint32_t>(bits >> 46 & 0x3FFF), static_cast<uint32_t>(bits >> 60)});
    }
    const Result expected = reference(c, 0);
    Binning binning(context, c);
    const Graph graph = make_graph(context);
    record(graph, binning.desc());
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_TRUE(binning.is(expected));
    // Numbers that no recording has: the buffer holds what it holds. A multiple of the capacity begins a ring anew.
    const uint32_t most = 0xFFFFFFFFu - 0xFFFFFFFFu % 257;
    binning.put_counts({most});
    replay(graph);
    EXPECT_EQ(binning.elements(), expected.elements);
    EXPECT_EQ(binning.faults()[SYNFIRE_EVENTS_FAULT_CAPACITY], most - 257);
  }
}

TEST_F(BinEvents, AugmentationsContinueWhereTheyAreSet) {
  Random random(4);
  Case c;
  c.desc.n_steps = 2;
  c.desc.batch = 6;
  c.desc.capacity = 50;
  c.desc.sensor_height = c.desc.sensor_width = 9;
  c.desc.crop_range_y = c.desc.crop_range_x = 3;
  c.desc.flip_y = c.desc.flip_x = 0.5;
  c.desc.seed = 5;
  renew(random, c);
  const Binning binning(context, c);
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, binning.desc());
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}}) {
    replay(graph);
    EXPECT_TRUE(binning.is(reference(c, offset))) << offset;
  }
  ASSERT_OK(synfire_graph_set_value(graph, operation, "offset", 1000));
  ASSERT_OK(synfire_graph_set_value(graph, operation, "seed", 6));
  c.desc.seed = 6;
  for (const uint64_t offset : {uint64_t{1000}, uint64_t{1001}}) {
    replay(graph);
    EXPECT_TRUE(binning.is(reference(c, offset))) << offset;
  }
  ASSERT_OK(synfire_graph_set_enabled(graph, operation, 0));
  replay(graph);
  ASSERT_OK(synfire_graph_set_enabled(graph, operation, 1));
  replay(graph);
  EXPECT_TRUE(binning.is(reference(c, 1002))) << "a replay in which it is disabled does not advance";
}

// ---- Refusals -------------------------------------------------------------------------------------------------------

Case small_case() {
  Case c;
  c.desc.n_steps = 2;
  c.desc.batch = 2;
  c.desc.capacity = 4;
  c.desc.sensor_height = 4;
  c.desc.sensor_width = 6;
  c.rows = {{{1, 5, 3, 1}}, {{1, 0, 0, 0}, {3, 0, 0, 0}, {5, 0, 0, 0}}};
  return c;
}

// A call on the host looks first; a GPU counts what it finds.
TEST_F(BinEvents, CallsOnTheHostRefuseFaults) {
  struct Fault {
    const char* rule;
    int kind;
    void (*make)(Case&);
  };
  const Fault faults[] = {
      {"SYN-BIN-OUTSIDE", SYNFIRE_EVENTS_FAULT_SENSOR, [](Case& c) { c.rows[1][2].x = 6; }},
      {"SYN-BIN-OUTSIDE", SYNFIRE_EVENTS_FAULT_SENSOR, [](Case& c) { c.rows[1][2].y = 4; }},
      {"SYN-BIN-OUTSIDE", SYNFIRE_EVENTS_FAULT_SENSOR, [](Case& c) { c.rows[1][2].polarity = 2; }},
      {"SYN-BIN-FULL", SYNFIRE_EVENTS_FAULT_CAPACITY,
       [](Case& c) {
         c.rows[1].resize(5, {7, 0, 0, 1});
       }},
      {"SYN-BIN-ORDER", SYNFIRE_EVENTS_FAULT_ORDER,
       [](Case& c) {
         c.desc.split = SYNFIRE_EVENTS_BY_COUNT;
         c.rows[1][2].t = 2;
       }},
      {"SYN-BIN-COUNT", SYNFIRE_EVENTS_FAULT_BOUND, [](Case& c) { c.desc.count_bound = 2; }},
      {"SYN-BIN-COUNT", SYNFIRE_EVENTS_FAULT_BOUND,
       [](Case& c) {
         c.desc.split = SYNFIRE_EVENTS_BY_COUNT;
         c.desc.sort = 1;
         c.desc.n_steps = 1;
         c.desc.count_bound = 2;
       }},
  };
  for (const Fault& fault : faults) {
    Case c = small_case();
    fault.make(c);
    SCOPED_TRACE(fault.rule);
    const Binning binning(context, c);
    const auto desc = binning.desc();
    if (on_host()) {
      const std::vector<double> before = binning.elements();
      EXPECT_FAILS(refused, WORDS(fault.rule, "row", "desc"), synfire_bin_events(context, &desc, nullptr));
      EXPECT_TRUE(same_bits(binning.elements(), before));
      EXPECT_EQ(binning.faults(), std::vector<uint32_t>(10, 77));
    } else {
      ASSERT_OK(synfire_bin_events(context, &desc, nullptr));
      EXPECT_TRUE(binning.is(reference(c, 0)));
    }
    // A replay counts it, and only it.
    const Graph graph = make_graph(context);
    record(graph, desc);
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_TRUE(binning.is(reference(c, 0)));
    std::vector<uint32_t> expected(10);
    expected[5 + static_cast<size_t>(fault.kind)] = 1;
    EXPECT_EQ(binning.faults(), expected);
  }
}

TEST_F(BinEvents, EventsOutsideOfTheStepsAreNoMistake) {
  Case c = small_case();
  c.window = {{2, 1}, {2, 1}};
  const Binning binning(context, c);
  const auto desc = binning.desc();
  ASSERT_OK(synfire_bin_events(context, &desc, nullptr));
  EXPECT_TRUE(binning.is(reference(c, 0)));
  EXPECT_EQ(binning.faults(), (std::vector<uint32_t>{0, 1, 0, 0, 0, 0, 2, 0, 0, 0}));
}

TEST_F(BinEvents, WrongDescriptorsAreRefused) {
  struct Wrong {
    const char *rule, *field;
    void (*make)(synfire_bin_events_desc&);
  };
  using Desc = synfire_bin_events_desc;
  const Wrong wrongs[] = {
      {"SYN-BIN-SHAPE", "n_steps", [](Desc& d) { d.n_steps = 0; }},
      {"SYN-BIN-SHAPE", "n_steps", [](Desc& d) { d.n_steps = int64_t{1} << 31; }},
      {"SYN-BIN-SHAPE", "batch", [](Desc& d) { d.batch = -1; }},
      {"SYN-BIN-CAPACITY", "capacity", [](Desc& d) { d.capacity = 0; }},
      {"SYN-BIN-CAPACITY", "capacity", [](Desc& d) { d.capacity = int64_t{1} << 31; }},
      {"SYN-BIN-CAPACITY", "capacity",
       [](Desc& d) {
         d.bilinear = 1;
         d.capacity = 1 << 26;
       }},
      {"SYN-BIN-SENSOR", "sensor_height", [](Desc& d) { d.sensor_height = 0; }},
      {"SYN-BIN-SENSOR", "sensor_width", [](Desc& d) { d.sensor_width = 16385; }},
      {"SYN-BIN-CROP", "crop_top", [](Desc& d) { d.crop_top = 4; }},
      {"SYN-BIN-CROP", "crop_left", [](Desc& d) { d.crop_left = -1; }},
      {"SYN-BIN-CROP", "crop_height",
       [](Desc& d) {
         d.crop_top = 2;
         d.crop_height = 3;
       }},
      {"SYN-BIN-CROP", "crop_width", [](Desc& d) { d.crop_width = std::numeric_limits<int64_t>::max(); }},
      {"SYN-BIN-CROP", "crop_range_x", [](Desc& d) { d.crop_range_x = 6; }},
      {"SYN-BIN-CROP", "crop_range_y", [](Desc& d) { d.crop_range_y = std::numeric_limits<int64_t>::min(); }},
      {"SYN-BIN-DOWNSAMPLE", "downsample_y", [](Desc& d) { d.downsample_y = 16385; }},
      {"SYN-BIN-DOWNSAMPLE", "downsample_x", [](Desc& d) { d.downsample_x = -1; }},
      {"SYN-BIN-FLIP", "flip_y", [](Desc& d) { d.flip_y = 1.5; }},
      {"SYN-BIN-FLIP", "flip_x", [](Desc& d) { d.flip_x = std::numeric_limits<double>::quiet_NaN(); }},
      {"SYN-BIN-TICKS", "ticks_per_step", [](Desc& d) { d.ticks_per_step = int64_t{1} << 32; }},
      {"SYN-BIN-TICKS", "ticks_per_step",
       [](Desc& d) {
         d.split = SYNFIRE_EVENTS_BY_COUNT;
         d.ticks_per_step = 1;
       }},
      {"SYN-BIN-EVENTS", "events_per_step", [](Desc& d) { d.events_per_step = 1; }},
      {"SYN-BIN-EVENTS", "events_per_step",
       [](Desc& d) {
         d.split = SYNFIRE_EVENTS_BY_COUNT;
         d.events_per_step = int64_t{1} << 31;
       }},
      {"SYN-BIN-BILINEAR", "bilinear",
       [](Desc& d) {
         d.split = SYNFIRE_EVENTS_BY_COUNT;
         d.bilinear = 1;
       }},
      {"SYN-BIN-BOUND", "count_bound", [](Desc& d) { d.count_bound = (1 << 24) + 1; }},
      {"SYN-BIN-SPLIT", "split", [](Desc& d) { d.split = 2; }},
      {"SYN-BIN-KEEP", "keep", [](Desc& d) { d.keep = -1; }},
      {"SYN-BIN-FLAG", "sort", [](Desc& d) { d.sort = 2; }},
      {"SYN-BIN-FLAG", "bilinear", [](Desc& d) { d.bilinear = -1; }},
      {"SYN-BIN-BOUND", "count_bound", [](Desc& d) { d.count_bound = -1; }},
  };
  const Binning binning(context, small_case());
  const Graph graph = make_graph(context);
  for (const Wrong& wrong : wrongs) {
    auto desc = binning.desc();
    wrong.make(desc);
    EXPECT_FAILS(refused, WORDS(wrong.rule, wrong.field), synfire_bin_events(context, &desc, nullptr));
    EXPECT_FAILS(refused, WORDS(wrong.rule, wrong.field), synfire_graph_record_bin_events(graph, &desc));
  }
  // Bytes hold 255 at most, and no fractions.
  Case c = small_case();
  c.dtype = SYNFIRE_DTYPE_U8;
  const Binning bytes(context, c);
  auto desc = bytes.desc();
  desc.count_bound = 256;
  EXPECT_FAILS(refused, WORDS("SYN-BIN-BOUND", "count_bound"), synfire_bin_events(context, &desc, nullptr));
  desc.count_bound = 0;
  desc.bilinear = 1;
  EXPECT_FAILS(refused, WORDS("SYN-BIN-BILINEAR", "u8"), synfire_bin_events(context, &desc, nullptr));
  // The ticks are in the window.
  c.window = {{0, 1}, {0, 1}};
  const Binning windowed(context, c);
  desc = windowed.desc();
  desc.ticks_per_step = 1;
  EXPECT_FAILS(refused, WORDS("SYN-BIN-TICKS", "window"), synfire_bin_events(context, &desc, nullptr));
  // Buffers of other types and sizes.
  desc = binning.desc();
  desc.events = desc.destination;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-TYPE", "events"), synfire_bin_events(context, &desc, nullptr));
  desc = binning.desc();
  desc.capacity = 5;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-SIZE", "events"), synfire_bin_events(context, &desc, nullptr));
  desc = binning.desc();
  desc.faults = desc.event_counts;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-SIZE", "faults"), synfire_bin_events(context, &desc, nullptr));
}

}  // namespace
}  // namespace synfire_test
