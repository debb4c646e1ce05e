// bare_none.cpp - for a library without CUDA. All contexts are then on the host, and nothing calls these functions.
//
// SPDX-License-Identifier: MIT
#include "bare.hpp"

namespace synfire_bench {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("built without CUDA");
}

}  // namespace

struct BareGraph::Parts {};
struct Load::Parts {};

BareGraph::BareGraph(const Machine&, const Chain&, Seen, int) {
  refuse();
}
BareGraph::~BareGraph() = default;
void BareGraph::launch() {
  refuse();
}
void BareGraph::wait() {
  refuse();
}
int highest_priority(const Machine&) {
  refuse();
}
int priority_of_nodes(const Machine&, const Chain&) {
  refuse();
}
Load::Load(const Machine&) {
  refuse();
}
Load::~Load() = default;
std::uint64_t Load::kernels() const {
  refuse();
}

}  // namespace synfire_bench
