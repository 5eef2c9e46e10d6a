// Several steps in one call of an engine: the same sequences, each one token further every round, without the
// scheduler in between.
//
//   rank:    rounds.most = n, Engine::step(batch) ......... cut() ............. step() completes, all rounds accounted
//   engine:  round 1, round 2, ...                          ends with the round that is under way
//
// A rank allows it where no token can change the batch before the last round. An engine that takes one step at a time
// leaves `ends` empty and answers as usual. Belongs to the rank, on its context; stays until step() has completed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/ids.h"
#include "runtime/time.h"

namespace baton {

class Rounds final {
 public:
  // most: how many the rank allows, at least one.
  explicit Rounds(std::uint32_t most) : most_(most) {}

  std::uint32_t most() const noexcept { return most_; }

  // For the engine. Plans further rounds: their ends, ascending and never beyond most() in all, and their tokens, for
  // each round one of every sequence in the batch's order. `on_cut` is called by cut() after it has shortened `ends`.
  void plan(std::span<const TimePoint> ends, std::span<const TokenId> tokens);
  void on_cut(std::function<void()> function) { on_cut_ = std::move(function); }

  // For the rank: no round begins after `now`. The rounds that are over and the one under way stay. No effect on an
  // engine that takes one step at a time.
  void cut(TimePoint now);

  // How many are over at `now`, in all.
  std::uint32_t over(TimePoint now) const noexcept {
    return static_cast<std::uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), now) - ends_.begin());
  }

  bool taken() const noexcept { return !ends_.empty(); }  // the engine takes rounds
  std::uint32_t planned() const noexcept { return static_cast<std::uint32_t>(ends_.size()); }
  const std::vector<TimePoint>& ends() const noexcept { return ends_; }
  TokenId token(std::size_t round, std::size_t sequence) const { return tokens_[round * sequences_ + sequence]; }

 private:
  std::uint32_t most_;
  std::vector<TimePoint> ends_;
  std::vector<TokenId> tokens_;
  std::size_t sequences_ = 0;
  std::function<void()> on_cut_;
};

}  // namespace baton
