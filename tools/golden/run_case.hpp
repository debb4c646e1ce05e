// run_case.hpp - one golden case through the C ABI: eagerly and as a graph, with every spike format and tape.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_GOLDEN_RUN_CASE_HPP
#define SYNFIRE_TOOLS_GOLDEN_RUN_CASE_HPP

#include <synfire/synfire.h>

#include <string>
#include <vector>

#include "case_folder.hpp"

namespace synfire_golden {

/// The error of one array relative to the reference.
struct ArrayError {
  std::string name;
  /// Relative to the reference's largest magnitude. For 16-bit elements, in units of their own bound, so that 1 is
  /// allowed. For spikes, the number that differ.
  double error;
  double bound;  ///< the largest error allowed
};

enum class Verdict { passed, failed, skipped };

struct CaseResult {
  Verdict verdict = Verdict::failed;
  std::vector<ArrayError> errors;
  /// Why the case was skipped, or what failed besides a bound; one sentence each.
  std::vector<std::string> notes;
};

/// Runs a case on a context, with sequences stored in `dtype`.
CaseResult run_case(synfire_context context, std::int32_t dtype, const Case& golden);

}  // namespace synfire_golden

#endif
