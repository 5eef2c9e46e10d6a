#include "model/engine/rounds.h"

#include "runtime/check.h"

namespace baton {

void Rounds::plan(std::span<const TimePoint> ends, std::span<const TokenId> tokens) {
  BATON_CHECK(ends_.size() + ends.size() <= most_, ends_.size(), ends.size(), most_);
  ends_.insert(ends_.end(), ends.begin(), ends.end());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  sequences_ = ends_.empty() ? 0 : tokens_.size() / ends_.size();
  BATON_CHECK(tokens_.size() == sequences_ * ends_.size(), tokens_.size(), ends_.size());
}

void Rounds::cut(TimePoint now) {
  const std::uint32_t kept = over(now) + 1;
  if (kept >= most_) {
    return;
  }
  most_ = std::max(kept, 1U);
  if (kept < ends_.size()) {
    tokens_.resize(sequences_ * kept);
    ends_.resize(kept);
    on_cut_();
  }
}

}  // namespace baton
