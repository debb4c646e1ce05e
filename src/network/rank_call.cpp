#include "rank_call.hpp"

namespace synfire::network {

RankCall::~RankCall() {
  if (!ranks_ || ended_) return;
  if (exchanges_)
    ranks_->give_up_message();
  else
    ranks_->report_failure(call_);
}

void RankCall::agree(uint64_t contents, const char* what) {
  if (!ranks_) return;
  ended_ = true;  // if it throws, it does so on all ranks, or the group is given up
  ranks_->agree(call_, contents, what);
  ended_ = false;
}

uint64_t RankCall::sum(uint64_t own) const {
  if (ranks_) ranks_->join(ranks::Join::sum, &own, 1);
  return own;
}

}  // namespace synfire::network
