// Finds the first of many stop strings in text that arrives in pieces (Aho and Corasick, CACM 18(6), 1975).
//
// The automaton's state is one number, so a stream keeps its place by copying it. depth(state) is the length of the
// longest tail of the text that begins some stop string: exactly what must be held back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace baton {

class StopMatcher final {
 public:
  using State = std::uint32_t;  // 0 is the start

  static constexpr std::size_t kPatternsMax = 256;
  static constexpr std::size_t kPatternBytesMax = 4096;

  StopMatcher() : StopMatcher(std::vector<std::string>{}) {}
  // Throws Error(invalid_argument) with validate's words.
  explicit StopMatcher(std::vector<std::string> patterns);

  // Why these cannot be stop strings: an empty one, invalid UTF-8, too many, too long. nullopt if they can.
  static std::optional<std::string> validate(std::span<const std::string> patterns);

  State next(State state, char byte) const;
  std::size_t depth(State state) const { return nodes_[state].depth; }
  // The longest pattern that ends at this state.
  std::optional<std::size_t> match(State state) const;
  const std::vector<std::string>& patterns() const noexcept { return patterns_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Node {
    std::vector<std::pair<unsigned char, State>> children;  // ascending by byte
    State fallback = 0;                                     // the longest proper tail that is a node
    std::uint32_t depth = 0;
    std::uint32_t pattern = kNone;  // longest pattern that ends here
  };

  std::optional<State> child(State state, unsigned char byte) const;
  void insert(std::uint32_t pattern);
  void link();

  std::vector<std::string> patterns_;
  std::vector<Node> nodes_;
};

}  // namespace baton
