// main.cpp - synfire-golden: runs a folder of golden cases through the C ABI and prints the largest error of each
// array, or lists the library's models and surrogates. This file has the command line, the report and the exit status.
//
// SPDX-License-Identifier: MIT
#include <synfire/synfire.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../names/names.hpp"
#include "case_folder.hpp"
#include "list.hpp"
#include "run_case.hpp"

namespace synfire_golden {
namespace {

constexpr int exit_passed = 0;
constexpr int exit_failed = 1;
constexpr int exit_unusable = 2;

constexpr const char* usage =
    "usage: synfire-golden DIR [--backend host|cuda|auto] [--dtype f32|f64|f16|bf16] [--threads N] [--list-skipped]\n"
    "       synfire-golden --list [--markdown]\n"
    "\n"
    "Runs every case of DIR (cases.json + cases.bin) through the C ABI: forward and backward, eagerly and as a graph,\n"
    "with spikes dense, as bytes and packed both ways, with a tape that recomputes H and one that stores it; all must\n"
    "agree bit for bit and stay within the bounds of the reference. With 16-bit storage they must also be what the "
    "f32\n"
    "layer gives, rounded to nearest even.\n"
    "\n"
    "  --backend       where to run; auto (default) uses a GPU if one is available, else the host\n"
    "  --dtype         storage: f32 (default), f64, f16 or bf16 (arithmetic in f32)\n"
    "  --threads       threads of the host backend: 1 to 1024, 0 (default) is automatic\n"
    "  --list-skipped  lists the skipped cases again at the end, grouped by reason\n"
    "  --list          runs nothing: every model and surrogate of this build with its parameters, their defaults, "
    "ranges,\n"
    "                  units, and whether they have a gradient and can be one number per neuron\n"
    "  --markdown      with --list: the tables of the documentation\n"
    "\n"
    "Exit status: 0 if at least one case ran and none failed, 1 otherwise, 2 for invalid arguments, a folder that\n"
    "cannot be read or is malformed, or an unavailable backend.\n";

struct Options {
  std::string folder;
  std::int32_t backend = SYNFIRE_BACKEND_AUTO;
  std::int32_t dtype = SYNFIRE_DTYPE_F32;
  std::int32_t n_threads = 0;
  bool list_skipped = false;
  bool list = false;
  bool markdown = false;
  bool help = false;
};

struct UsageError {
  std::string text;
};

using synfire_tools::backends;
using synfire_tools::NamedId;
constexpr NamedId dtypes[] = {
    {"f32", SYNFIRE_DTYPE_F32}, {"f64", SYNFIRE_DTYPE_F64}, {"f16", SYNFIRE_DTYPE_F16}, {"bf16", SYNFIRE_DTYPE_BF16}};

template <typename Table>
std::int32_t parse_name(const Table& table, std::string_view option, std::string_view value) {
  if (const std::optional<std::int32_t> id = synfire_tools::find_id(table, value)) {
    return *id;
  }
  std::string allowed;
  for (const NamedId& entry : table) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw UsageError{std::string(option) + " is \"" + std::string(value) + "\"; allowed are " + allowed};
}

template <typename Table>
const char* name_of(const Table& table, std::int32_t id) {
  for (const NamedId& entry : table) {
    if (entry.id == id) {
      return entry.name.data();
    }
  }
  return "";
}

std::int32_t parse_threads(std::string_view value) {
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 0 || number > 1024) {
    throw UsageError{"--threads is \"" + std::string(value) + "\"; allowed are 0 to 1024"};
  }
  return number;
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view argument = arguments[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == argument_count) {
        throw UsageError{std::string(argument) + " needs a value"};
      }
      return arguments[++i];
    };
    if (argument == "--backend") {
      options.backend = parse_name(backends, argument, value());
    } else if (argument == "--dtype") {
      options.dtype = parse_name(dtypes, argument, value());
    } else if (argument == "--threads") {
      options.n_threads = parse_threads(value());
    } else if (argument == "--help") {
      options.help = true;
      return options;
    } else if (argument == "--list-skipped") {
      options.list_skipped = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--markdown") {
      options.markdown = true;
    } else if (argument.substr(0, 1) == "-") {
      throw UsageError{"unknown option " + std::string(argument)};
    } else if (options.folder.empty() && !argument.empty()) {
      options.folder = argument;
    } else {
      throw UsageError{"only one folder is allowed; unexpected argument \"" + std::string(argument) + "\""};
    }
  }
  if (options.markdown && !options.list) {
    throw UsageError{"--markdown requires --list"};
  }
  if (options.list && !options.folder.empty()) {
    throw UsageError{"--list takes no folder; unexpected argument \"" + options.folder + "\""};
  }
  if (options.folder.empty() && !options.list) {
    throw UsageError{"a folder is needed"};
  }
  return options;
}

std::string last_error_text() {
  char text[1024];
  synfire_last_error(text, sizeof text, nullptr);
  return text;
}

struct Totals {
  unsigned passed = 0, failed = 0, skipped = 0;
  std::map<std::string, std::vector<std::string>> skipped_by_reason;
};

void print_case(const Case& golden, const CaseResult& result) {
  const char* const words[] = {"pass", "FAIL", "skip"};
  std::printf("%s  %s", words[static_cast<int>(result.verdict)], golden.id.c_str());
  if (result.verdict == Verdict::skipped) {
    std::printf(": %s\n", result.notes.front().c_str());
    return;
  }
  std::printf("\n");
  for (const ArrayError& array : result.errors) {
    const char* const mark = array.error <= array.bound ? "" : "  <- exceeds its bound";
    if (array.name == "spike_seq") {
      std::printf("        %-12s %.0f spikes differ (exact)%s\n", array.name.c_str(), array.error, mark);
    } else {
      std::printf("        %-12s %.2e of %.0e%s\n", array.name.c_str(), array.error, array.bound, mark);
    }
  }
  for (const std::string& note : result.notes) {
    std::printf("        %s\n", note.c_str());
  }
}

int run_folder(const Options& options, const std::vector<Case>& cases) {
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = options.backend;
  context_desc.n_threads = options.n_threads;
  synfire_context context = nullptr;
  if (synfire_context_create(&context_desc, &context) < 0) {
    std::fprintf(stderr, "synfire-golden: no context: %s\n", last_error_text().c_str());
    return exit_unusable;
  }
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  if (synfire_context_get_properties(context, &properties) == SYNFIRE_OK) {
    std::printf("synfire %s on %s, %s\n", synfire_version_string(), properties.name, name_of(dtypes, options.dtype));
  }
  Totals totals;
  for (const Case& golden : cases) {
    const CaseResult result = run_case(context, options.dtype, golden);
    print_case(golden, result);
    switch (result.verdict) {
      case Verdict::passed:
        ++totals.passed;
        break;
      case Verdict::failed:
        ++totals.failed;
        break;
      case Verdict::skipped:
        ++totals.skipped;
        totals.skipped_by_reason[result.notes.front()].push_back(golden.id);
        break;
    }
  }
  synfire_context_destroy(context);
  synfire_context_reclaim(nullptr, nullptr);
  if (options.list_skipped) {
    for (const auto& [reason, ids] : totals.skipped_by_reason) {
      std::printf("skipped %zu: %s\n", ids.size(), reason.c_str());
      for (const std::string& id : ids) {
        std::printf("        %s\n", id.c_str());
      }
    }
  }
  if (totals.passed + totals.failed == 0) {
    std::printf("no case of this folder could be run\n");
  }
  std::printf("%u passed, %u failed, %u skipped\n", totals.passed, totals.failed, totals.skipped);
  return totals.failed == 0 && totals.passed > 0 ? exit_passed : exit_failed;
}

}  // namespace
}  // namespace synfire_golden

int main(int argument_count, char** arguments) {
  using namespace synfire_golden;
  try {
    const Options options = parse_options(argument_count, arguments);
    if (options.help) {
      std::printf("%s", usage);
      return exit_passed;
    }
    int status = exit_passed;
    if (options.list) {
      std::printf("%s", (options.markdown ? list_as_markdown() : list_as_text()).c_str());
    } else {
      status = run_folder(options, read_case_folder(options.folder));
    }
    if (std::fflush(stdout) != 0) {
      std::fprintf(stderr, "synfire-golden: the report could not be written\n");
      return exit_failed;
    }
    return status;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "synfire-golden: %s\n\n%s", error.text.c_str(), usage);
  } catch (const MalformedFolder& error) {
    std::fprintf(stderr, "synfire-golden: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "synfire-golden: %s\n", error.what());
  }
  return exit_unusable;
}
