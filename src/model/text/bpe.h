// Byte-pair merging of one piece: which tokens its bytes become.
//
// The pair of the lowest rank is merged first, the leftmost of equal ones, until no pair of neighbours has a merge
// (Sennrich, Haddow, Birch, ACL 2016). With a heap over a linked list: n log n in the length of the piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/ids.h"

namespace baton {

struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;
};

// Pair of tokens to the rank of its merge and its result: an open hash table, built once, never changed.
class MergeTable final {
 public:
  struct Entry {
    std::uint64_t key = kEmpty;
    std::uint32_t rank = 0;
    TokenId result = 0;
  };

  MergeTable() : MergeTable(std::vector<Merge>{}) {}
  // The rank of a merge is its index; of equal pairs the first one counts.
  explicit MergeTable(const std::vector<Merge>& merges);

  const Entry* find(TokenId left, TokenId right) const noexcept;  // nullptr: these two do not merge

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair of ids that are not negative
  static std::uint64_t key_of(TokenId left, TokenId right) noexcept;
  std::size_t slot_of(std::uint64_t key) const noexcept;

  std::vector<Entry> slots_;  // a power of two, at most half full
};

// Scratch memory for merging, reused from piece to piece. Not thread-safe.
class PieceMerger final {
 public:
  explicit PieceMerger(const MergeTable& table) : table_(&table) {}

  // Merges `symbols` (the token of each byte; -1 merges with nothing and gives no token), appends the tokens to out.
  void merge(const std::vector<TokenId>& symbols, std::vector<TokenId>& out);

 private:
  static constexpr TokenId kGone = -1;
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;  // no neighbour
  struct Symbol {
    TokenId id;
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct Candidate {
    std::uint64_t order;  // rank of the merge, then index of the left symbol: least first
    TokenId left;         // what the two symbols were: anything else now means that the candidate is out of date
    TokenId right;
  };
  static bool later(const Candidate& a, const Candidate& b) noexcept { return a.order > b.order; }

  bool add_candidate(std::uint32_t at);
  void consider(std::uint32_t at);
  void apply(const Candidate& candidate);

  const MergeTable* table_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace baton
