// live.cpp - see live.hpp.
//
// SPDX-License-Identifier: MIT
#include "live.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "clock.h"
#include "eye.hpp"
#include "files.h"
#include "hash.hpp"
#include "motions.hpp"
#include "namer.hpp"
#include "progress.hpp"
#include "recording.h"

namespace gestures {
namespace {

constexpr std::uint64_t millisecond = 1000;            // microseconds
constexpr std::uint64_t episode = 1000 * millisecond;  // a gesture each second
constexpr std::int64_t deadline = 1'000'000;           // nanoseconds

// Where events come from, millisecond by millisecond.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Appends the events of the next millisecond. Returns false after the last one.
  virtual bool next(std::vector<std::uint64_t>& events) = 0;
  /// The end of that millisecond, in microseconds.
  virtual std::uint64_t now() const = 0;
};

// A hand that makes one gesture each second before one camera, in one light.
class Show : public Source {
 public:
  explicit Show(const Live& live)
      : milliseconds_(live.seconds * 1000), random_(live.seed), scene_(draw()), eye_(scene_.noise, scene_.seed) {}

  bool next(std::vector<std::uint64_t>& events) override {
    if (now_ == milliseconds_ * millisecond) return false;
    if (now_ % episode == 0 && now_ > 0) {
      const Scene before = scene_;
      scene_ = draw();
      scene_.light.level = before.light.level;
      scene_.light.slope_x = before.light.slope_x;
      scene_.light.slope_y = before.light.slope_y;
    }
    now_ += millisecond;
    const double since_middle =
        (static_cast<double>((now_ - 1) % episode + 1) - static_cast<double>(episode) / 2) * 1e-6;
    draw_hand(scene_.shape, pose_at(scene_, duration(scene_) / 2 + since_middle), scene_.light, image_);
    eye_.look(image_, now_, events);
    return true;
  }
  std::uint64_t now() const override { return now_; }

  /// Returns whether the row that ends now is around the middle of a gesture, and which one is being made.
  bool is_row(Motion& motion) const {
    motion = scene_.motion;
    return now_ % episode == episode / 2 + row_microseconds / 2;
  }

 private:
  Scene draw() { return draw_scene(static_cast<Motion>(random_.below(rest)), true, random_); }

  std::uint64_t milliseconds_, now_ = 0;
  learning::Random random_;
  Scene scene_;
  Eye eye_;
  Image image_;
};

// A recording: from what its first event's window begins with to its last event. Events have the low 32 bits of their
// times, and no time is earlier than the one before, so what lies between two events is known where the clock wraps.
class Recording : public Source {
 public:
  explicit Recording(const std::string& file) : recording_{} {
    char error[RECORDING_ERROR] = "";
    if (!recording_read(file.c_str(), nullptr, &recording_, error)) throw std::runtime_error(file + ": " + error);
    const bool fits = recording_.width == side && recording_.height == side;
    if (!fits || recording_.n_backwards > 0) {
      const std::string found = std::to_string(recording_.width) + " x " + std::to_string(recording_.height);
      recording_free(&recording_);
      throw std::runtime_error(file + (fits ? ": some events are older than the one before"
                                            : ": a sensor of " + found + " pixels; the network sees " +
                                                  std::to_string(side) + " x " + std::to_string(side)));
    }
    if (recording_.n_events == 0) return;
    time_ = static_cast<std::uint32_t>(recording_.events[0]);
    end_ = time_;
    for (std::size_t i = 1; i < recording_.n_events; ++i) end_ += after(i);
    end_ = (end_ / millisecond + 1) * millisecond;
    if (time_ > row_microseconds) now_ = (time_ - row_microseconds) / millisecond * millisecond;
  }
  ~Recording() override { recording_free(&recording_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  bool next(std::vector<std::uint64_t>& events) override {
    if (now_ == end_) return false;
    now_ += millisecond;
    while (next_ < recording_.n_events && time_ < now_) {
      events.push_back(recording_.events[next_]);
      if (++next_ < recording_.n_events) time_ += after(next_);
    }
    return true;
  }
  std::uint64_t now() const override { return now_; }

 private:
  // From the event before one to it.
  std::uint32_t after(std::size_t event) const {
    return static_cast<std::uint32_t>(recording_.events[event]) -
           static_cast<std::uint32_t>(recording_.events[event - 1]);
  }

  recording recording_;
  std::size_t next_ = 0;
  std::uint64_t time_ = 0, now_ = 0, end_ = 0;  // of the next event, of the clock, of the recording
};

// The results of the loop.
struct Counts {
  std::uint64_t steps = 0, late = 0, gestures = 0, right = 0;
  std::vector<std::int64_t> took;  // nanoseconds from the launch to the name
  learning::Hash scores;
};

double percentile(const std::vector<std::int64_t>& sorted, std::size_t part, std::size_t of) {
  return sorted.empty() ? 0 : static_cast<double>(sorted[(sorted.size() * part + of - 1) / of - 1]) * 1e-3;
}

void report(Counts& counts, const Live& live) {
  std::sort(counts.took.begin(), counts.took.end());
  std::printf("named        %" PRIu64 " milliseconds, scores hash %016" PRIx64 "\n", counts.steps,
              counts.scores.value());
  if (counts.gestures > 0)
    std::printf("right        %" PRIu64 " of %" PRIu64 " gestures\n", counts.right, counts.gestures);
  std::printf("launch->name p50 %.1f us, p99 %.1f us, max %.1f us\n", percentile(counts.took, 50, 100),
              percentile(counts.took, 99, 100), percentile(counts.took, 1, 1));
  if (live.realtime)
    std::printf("late         %" PRIu64 " of %" PRIu64 " (deadline: 1 ms after the events)\n", counts.late,
                counts.steps);
}

void run(Source& source, const Show* show, Namer& namer, const Live& live) {
  Counts counts;
  counts.took.reserve(1 << 16);
  std::vector<std::uint64_t> events;
  events.reserve(1 << 16);
  Motion before = rest;
  const std::int64_t start = clock_now();
  for (std::int64_t due = start;;) {
    events.clear();
    if (!source.next(events)) break;
    ++counts.steps;
    // A millisecond's events are complete when it is over: absolute times, so that no delay adds up.
    due += deadline;
    if (live.realtime) clock_wait_until(due, live.spins);
    const std::int64_t launched = clock_now();
    for (const std::uint64_t event : events) namer.see(event);
    const Motion named = namer.name(static_cast<std::uint32_t>(source.now()));
    const std::int64_t done = clock_now();
    counts.took.push_back(done - launched);
    if (live.realtime && done > due + deadline) ++counts.late;
    for (const float score : namer.scores()) counts.scores.add_word(std::bit_cast<std::uint32_t>(score));
    Motion motion{};
    if (show != nullptr && show->is_row(motion)) {
      ++counts.gestures;
      counts.right += named == motion ? 1U : 0U;
    }
    if (named != before) {
      std::printf("%8.3f s  %s\n", static_cast<double>(source.now()) * 1e-6, names.at(named));
      std::fflush(stdout);
    }
    before = named;
  }
  report(counts, live);
}

void write_record(std::FILE* out, std::uint64_t event) {
  for (int shift = 0; shift < 64; shift += 8) std::fputc(static_cast<int>(event >> shift & 0xFFU), out);
}

}  // namespace

void name_live(const synfire::Context& context, const std::string& network, const Live& live) {
  Namer namer(context, network);
  if (live.recording.empty()) {
    Show show(live);
    run(show, &show, namer, live);
  } else {
    Recording recording(live.recording);
    run(recording, nullptr, namer, live);
  }
}

void record_live(const std::string& file, const Live& live) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  File out(files_open(file.c_str(), "wb"), &std::fclose);
  if (!out) throw std::runtime_error(file + ": cannot be created");
  std::fprintf(out.get(), "%% Data file containing CD events\n%% Version 2\n%% Width %zu\n%% Height %zu\n%c%c", side,
               side, 0x0C, 8);
  Show show(live);
  std::vector<std::uint64_t> events;
  std::size_t n_events = 0;
  while (show.next(events)) {
    for (const std::uint64_t event : events) write_record(out.get(), event);
    n_events += events.size();
    events.clear();
  }
  const bool written = std::ferror(out.get()) == 0;
  if (std::fclose(out.release()) != 0 || !written) throw std::runtime_error(file + ": cannot be written");
  std::printf("recorded     %zu events in %zu s\n", n_events, live.seconds);
}

}  // namespace gestures
