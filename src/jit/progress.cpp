#include "progress.hpp"

#include <base/error.hpp>
#include <platform/float_environment.hpp>

#include <algorithm>
#include <climits>

namespace synfire::jit {
namespace {

constexpr uint64_t default_time_out = 120000000000u;

}  // namespace

Progress::Progress(synfire_load_progress callback, void* user, uint64_t time_out) noexcept
    : callback_(callback),
      user_(user),
      time_out_(static_cast<int64_t>(std::min<uint64_t>(time_out == 0 ? default_time_out : time_out, INT64_MAX / 4))),
      begin_(Clock::now()) {}

uint64_t Progress::nanoseconds() const noexcept {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
}

bool Progress::is_cancelled() noexcept {
  if (!callback_) return false;
  const core::CallersFloatEnvironment theirs;
  return callback_(user_, stage_, nanoseconds()) != 0;
}

void Progress::enter(int32_t stage) {
  stage_ = stage;
  if (is_cancelled()) fail_cancelled();
}

void Progress::fail_late(Late why) const {
  const double seconds = static_cast<double>(time_out_.count()) * 1e-9;
  if (why == Late::idle)
    core::fail_argument(
        "SYN-MODEL-TIME",
        "the compiler had nothing to do for so long that desc.time_out, %.3f seconds, was over, and was "
        "ended; it waits for something, perhaps for a file that the text includes",
        seconds);
  core::fail_argument(
      "SYN-MODEL-TIME",
      "the compiler was still at work after desc.time_out, %.3f seconds of processor time, and was ended; "
      "most texts take 10 to 20: templates of this one may call one another without end, or a file that "
      "it includes may have no end",
      seconds);
}

void Progress::fail_cancelled() {
  core::fail(SYNFIRE_ERROR_CALLBACK, "SYN-MODEL-CANCELLED",
             "desc.progress did not return 0 and thereby ended the load");
}

}  // namespace synfire::jit
