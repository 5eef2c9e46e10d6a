#include "model/text/stop_matcher.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/text/utf8.h"
#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton {

StopMatcher::StopMatcher(std::vector<std::string> patterns) : patterns_(std::move(patterns)), nodes_(1) {
  if (const auto problem = validate(patterns_)) {
    throw Error(Errc::invalid_argument, *problem);
  }
  for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
    insert(i);
  }
  link();
}

std::optional<std::string> StopMatcher::validate(std::span<const std::string> patterns) {
  if (patterns.size() > kPatternsMax) {
    return fmt::format("stop: {} strings, at most {} are allowed", patterns.size(), kPatternsMax);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].empty()) {
      return fmt::format("stop: string {} is empty", i);
    }
    if (patterns[i].size() > kPatternBytesMax) {
      return fmt::format("stop: string {} has {} bytes, at most {} are allowed", i, patterns[i].size(),
                         kPatternBytesMax);
    }
    if (!is_valid_utf8(patterns[i])) {
      return fmt::format("stop: string {} is not valid UTF-8", i);
    }
  }
  return std::nullopt;
}

StopMatcher::State StopMatcher::next(State state, char byte) const {
  BATON_CHECK(state < nodes_.size(), state, nodes_.size());
  const auto key = static_cast<unsigned char>(byte);
  while (true) {
    if (const auto found = child(state, key)) {
      return *found;
    }
    if (state == 0) {
      return 0;
    }
    state = nodes_[state].fallback;
  }
}

std::optional<std::size_t> StopMatcher::match(State state) const {
  if (nodes_[state].pattern == kNone) {
    return std::nullopt;
  }
  return nodes_[state].pattern;
}

std::optional<StopMatcher::State> StopMatcher::child(State state, unsigned char byte) const {
  const auto& children = nodes_[state].children;
  const auto at = std::lower_bound(children.begin(), children.end(), byte,
                                   [](const auto& entry, unsigned char wanted) { return entry.first < wanted; });
  if (at == children.end() || at->first != byte) {
    return std::nullopt;
  }
  return at->second;
}

void StopMatcher::insert(std::uint32_t pattern) {
  State state = 0;
  for (const char c : patterns_[pattern]) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto found = child(state, byte)) {
      state = *found;
      continue;
    }
    const auto added = static_cast<State>(nodes_.size());
    const std::uint32_t depth = nodes_[state].depth + 1;
    nodes_.emplace_back().depth = depth;
    auto& children = nodes_[state].children;
    children.insert(std::upper_bound(children.begin(), children.end(), std::pair(byte, State{0}),
                                     [](const auto& a, const auto& b) { return a.first < b.first; }),
                    {byte, added});
    state = added;
  }
  if (nodes_[state].pattern == kNone) {  // of equal strings the first one is reported
    nodes_[state].pattern = pattern;
  }
}

void StopMatcher::link() {
  // Breadth first: a fallback is shallower than its node, so it is complete when it is needed.
  std::vector<State> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const State parent = queue[i];
    for (const auto& [byte, node] : nodes_[parent].children) {
      nodes_[node].fallback = parent == 0 ? 0 : next(nodes_[parent].fallback, static_cast<char>(byte));
      if (nodes_[node].pattern == kNone) {
        nodes_[node].pattern = nodes_[nodes_[node].fallback].pattern;
      }
      queue.push_back(node);
    }
  }
}

}  // namespace baton
