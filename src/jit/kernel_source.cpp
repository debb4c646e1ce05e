#include "kernel_source.hpp"

namespace synfire::jit {
namespace {

// Defines integers without a standard header, and makes the library's text one file, so that a kernel's expression can
// use names that are hidden from other files.
constexpr const char* beginning = R"(#define SYNFIRE_LOADED 1
#define SYNFIRE_MODEL_LEVEL cuda
#if defined(__CUDACC_RTC__)
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
#else
#include <cstdint>
#endif
)";

}  // namespace

std::string kernel_source(const ModelText* model, int32_t model_id, const ModelText* surrogate, int32_t surrogate_id,
                          const char* header, Source::Marks marks) {
  Source source(marks, Source::Standard::dropped);
  give_kernel_lists(source, model, model_id, surrogate, surrogate_id);
  source.add_text(beginning);
  source.add(header);
  std::string text = source.text();
  constexpr std::string_view hidden = "\nnamespace {\n", named = "\ninline namespace text {\n";
  for (size_t at = text.find(hidden); at != std::string::npos; at = text.find(hidden, at + named.size()))
    text.replace(at, hidden.size(), named);
  return text;
}

}  // namespace synfire::jit
