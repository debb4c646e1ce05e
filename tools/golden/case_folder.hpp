// case_folder.hpp - a folder of golden cases (cases.json + cases.bin) in memory. Independent of the library.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_GOLDEN_CASE_FOLDER_HPP
#define SYNFIRE_TOOLS_GOLDEN_CASE_FOLDER_HPP

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace synfire_golden {

/// A folder that cannot be read or does not have the documented form. The text names the file and the error.
struct MalformedFolder : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One array of a case: float64 values, row-major, time-major.
struct Array {
  std::vector<std::uint64_t> shape;
  std::vector<double> values;
};

/// One case of cases.json with its arrays.
struct Case {
  std::string id;
  std::string model;
  std::string surrogate;
  bool soft_reset = false;
  bool detach_reset = false;
  std::int64_t n_steps = 0;
  std::int64_t n_neurons = 0;
  /// Numbers by name. Parameters that are null, for example `v_reset` under soft reset, are left out.
  std::map<std::string, double> parameters;
  /// Switches by name, for example `decay_input`.
  std::map<std::string, bool> switches;
  std::map<std::string, double> surrogate_parameters;
  std::map<std::string, Array> arrays;
};

/// Reads and checks a whole folder; throws MalformedFolder.
std::vector<Case> read_case_folder(const std::string& folder);

}  // namespace synfire_golden

#endif
