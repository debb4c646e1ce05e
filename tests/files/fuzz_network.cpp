// A libFuzzer target over what makes a network of a file's metadata: the words, the design, the plan of its memory.
// CTest gives it some seconds; to look for longer, with seeds from tests/files/networks:
//
//   synfire-fuzz-network -dict=tests/files/network.dict -max_len=4096 CORPUS_FOLDER tests/files/networks
//
// An input is text: a line for "synfire.network", then one for each stage. The file gets the tensors that the lines ask
// for, so that it is refused for what the lines say and not for what it lacks.
#include <network/parts.hpp>
#include <network/planning_device.hpp>
#include <network/saved.hpp>

#include <base/context.hpp>
#include <base/error.hpp>
#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace synfire;
using files::Dtype;

[[noreturn]] void report(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}

// The value of a word of the line, or nothing.
std::string word_of(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return std::string(word.substr(key.size() + 1));
  }
  return {};
}

int64_t number_of(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The tensors that belong to a stage whose input has this many elements. Those of more than a page are left out.
void add_tensors(files::SafetensorsWriter& writer, std::string_view line, int64_t before, int64_t width, bool f64) {
  static const std::vector<std::byte> zeros(size_t{1} << 15);
  constexpr int64_t most = 4096;
  if (before < 1 || width < 1 || before > most || width > most / before) return;
  const std::string name = word_of(line, "name");
  const int64_t shape[] = {width, before};
  const auto n = static_cast<size_t>(width * before);
  writer.add(name + ".weights", f64 ? Dtype::f64 : Dtype::f32, shape, std::span(zeros).first(n * (f64 ? 8 : 4)));
  if (word_of(line, "has_mask") == "1") writer.add(name + ".mask", Dtype::u8, shape, std::span(zeros).first(n));
}

// The same of a convolution, and of a normalisation, of these channels.
void add_kernel(files::SafetensorsWriter& writer, std::string_view line, int64_t channels, bool f64) {
  static const std::vector<std::byte> zeros(size_t{1} << 15);
  int64_t shape[] = {0, 0, 0, channels};
  const char* const names[] = {"output_channels", "kernel_height", "kernel_width"};
  for (size_t i = 0; i < 3; ++i) shape[i] = number_of(word_of(line, names[i]));
  const int64_t groups = std::max<int64_t>(number_of(word_of(line, "groups")), 1);
  shape[3] /= groups;
  int64_t n = 1;
  for (const int64_t length : shape) {
    if (length < 1 || length > 4096 / n) return;
    n *= length;
  }
  writer.add(word_of(line, "name") + ".weights", f64 ? Dtype::f64 : Dtype::f32, shape,
             std::span(zeros).first(static_cast<size_t>(n) * (f64 ? 8 : 4)));
}
void add_statistics(files::SafetensorsWriter& writer, std::string_view line, int64_t channels, bool f64) {
  static const std::vector<std::byte> zeros(size_t{1} << 15);
  if (channels < 1 || channels > 4096) return;
  for (const char* const name : {".running_mean", ".running_variance"})
    writer.add(word_of(line, "name") + name, f64 ? Dtype::f64 : Dtype::f32, {&channels, 1},
               std::span(zeros).first(static_cast<size_t>(channels) * (f64 ? 8 : 4)));
}

// The channels of a stage with this width, if its input has `before`. Those of a concatenation are not known.
int64_t channels_of(std::string_view line, int64_t width, int64_t before) {
  const std::string kind = word_of(line, "kind"), map = word_of(line, "map_channels");
  if (kind == "conv2d") return number_of(word_of(line, "output_channels"));
  if (kind == "input") return map.empty() ? width : number_of(map);
  return kind == "synapse" || kind == "flatten" || kind == "group_mean" ? width : kind == "concatenate" ? 0 : before;
}

// The width, or the channels, of the stage that a line reads first: that before, unless it names another one by its
// number.
int64_t width_before(std::string_view line, const std::vector<int64_t>& widths) {
  const std::string inputs = word_of(line, "inputs");
  const int64_t from = inputs.empty() ? static_cast<int64_t>(widths.size()) - 1 : number_of(inputs);
  return from >= 0 && from < static_cast<int64_t>(widths.size()) ? widths[static_cast<size_t>(from)] : 0;
}

std::vector<std::byte> file_of(std::string_view text) {
  files::SafetensorsWriter writer;
  const std::string_view network = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), network.size() + 1));
  writer.set_metadata("synfire.network", network);
  const bool f64 = word_of(network, "dtype") == "f64";
  std::vector<int64_t> widths, channels;
  for (size_t stage = 0; !text.empty(); ++stage) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    writer.set_metadata("synfire.stage." + std::to_string(stage), line);
    const int64_t before = width_before(line, widths), own = number_of(word_of(line, "width"));
    const int64_t width = own > 0 ? own : before;
    widths.push_back(width);
    const std::string kind = word_of(line, "kind");
    const int64_t read = width_before(line, channels);
    channels.push_back(channels_of(line, width, read));
    if (kind == "synapse") add_tensors(writer, line, before, width, f64);
    if (kind == "conv2d") add_kernel(writer, line, read, f64);
    if (kind == "normalization") add_statistics(writer, line, read, f64);
    if (word_of(line, "has_class_weights") == "1" && width > 0 && width <= 4096) {
      static const std::vector<float> ones(4096, 1.0F);
      writer.add(word_of(line, "name") + ".class_weights", Dtype::f32, {&width, 1},
                 std::as_bytes(std::span(ones).first(static_cast<size_t>(width))));
    }
  }
  return writer.bytes();
}

// Whatever is refused is refused as wrong data, or for the memory that it would need.
template <class Body>
bool accepted(Body body) {
  try {
    body();
    return true;
  } catch (const core::Failure& failure) {
    const bool sound = std::string_view(failure.rule).starts_with("SYN-") && !failure.text.empty() &&
                       (failure.status == SYNFIRE_ERROR_INVALID_ARGUMENT ||
                        failure.status == SYNFIRE_ERROR_OUT_OF_MEMORY || failure.status == SYNFIRE_ERROR_UNSUPPORTED);
    if (!sound) report("refused by " + std::string(failure.rule) + ": " + failure.text);
    return false;
  }
}

std::string metadata_text(const network::SavedNetwork& saved) {
  files::SafetensorsWriter writer;
  network::write_metadata(writer, saved.design, saved.position);
  const std::vector<std::byte> bytes = writer.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One without models of its own, on a device that only counts.
const core::Context& empty_context() {
  static const core::Ref<core::Context> context = core::Ref<core::Context>::adopt(
      new core::Context(std::make_unique<network::PlanningDevice>(true, 1), SYNFIRE_FALLBACK_NONE));
  return *context;
}

void require_soundness(const std::vector<std::byte>& bytes) {
  const files::SafetensorsFile file = files::SafetensorsFile::from_memory(bytes);
  std::optional<network::SavedNetwork> saved;
  if (!accepted([&] { saved.emplace(network::read_metadata(file, empty_context())); })) return;
  // Written and read again, it is the same network.
  const std::string text = metadata_text(*saved);
  files::SafetensorsWriter writer;
  network::write_metadata(writer, saved->design, saved->position);
  for (const files::SafetensorsFile::Tensor& tensor : file.tensors())
    writer.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
  const std::vector<std::byte> again_bytes = writer.bytes();
  const files::SafetensorsFile again_file = files::SafetensorsFile::from_memory(again_bytes);
  const network::SavedNetwork again = network::read_metadata(again_file, empty_context());
  if (metadata_text(again) != text) report("the metadata change when they are written and read:\n" + text);
  network::check_same(saved->design, again.design);
  network::check_same(again.design, saved->design);
  for (const bool on_host : {true, false})
    accepted([&] { network::plan(saved->design, network::PlanningDevice(on_host, 4)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> file;
  // The file itself may be one that the writer refuses: names that are not UTF-8, or twice the same.
  if (!accepted([&] { file = file_of({reinterpret_cast<const char*>(data), size}); })) return 0;
  require_soundness(file);
  return 0;
}
