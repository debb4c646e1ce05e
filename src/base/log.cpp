#include "log.hpp"

#include "mutex.hpp"
#include "text.hpp"

#include <platform/float_environment.hpp>

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace synfire::core {
namespace {

// Messages wait for each other, so that the function can be changed. A message is rare and never on a fast path.
constinit Mutex log_mutex;
constinit synfire_log_desc listener = SYNFIRE_LOG_DESC_INIT;
// The most detailed level that is heard; 0 without a listener.
constinit std::atomic<int32_t> heard_level{0};

}  // namespace

bool is_logged(int32_t level) noexcept {
  return level <= heard_level.load(std::memory_order_relaxed);
}

void log_message(int32_t level, const char* format, ...) noexcept {
  if (!is_logged(level)) return;
  char raw[512], text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(raw, sizeof raw, format, arguments);
  va_end(arguments);
  copy_printable(raw, text, sizeof text);
  // The data that it guards is consistent at every moment.
  log_mutex.take_over();
  const std::lock_guard lock(log_mutex, std::adopt_lock);
  if (!is_logged(level) || !listener.log) return;
  const CallersFloatEnvironment theirs;
  listener.log(listener.user, level, text);
}

void set_log(const synfire_log_desc& desc) noexcept {
  log_mutex.take_over();
  const std::lock_guard lock(log_mutex, std::adopt_lock);
  listener = desc;
  const int32_t level = desc.level == 0 ? SYNFIRE_LOG_CHOICE : desc.level;
  heard_level.store(desc.log ? level : 0, std::memory_order_relaxed);
}

}  // namespace synfire::core
