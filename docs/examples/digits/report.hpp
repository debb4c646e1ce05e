// report.hpp - the results of `digits` on stdout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "learner.hpp"
#include "stream.hpp"

namespace digits {

void report_data(const Data& data);
void report_epoch(const Epoch& epoch);

/// Which digits were named how, and which voices were understood worst.
void report_confusion(const std::vector<const Utterance*>& rows, const std::vector<std::uint32_t>& names);

void report_weights(std::uint64_t hash);
void report_stream(const Streamed& streamed);

}  // namespace digits
