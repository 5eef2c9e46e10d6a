// Which page holds which prefix: the index of a pool's cached pages, and the order in which they are given up.
//
// A radix tree over pages, kept as a flat table: keys are chained (prefix_keys.h), so the key of a page names its whole
// path, and walking a prompt's keys until one is missing walks the tree from its root. A page counts its users; whoever
// uses a page uses all pages before it. Those nobody uses stand in order of their last use, and of pages let go
// together the later ones of a prompt are the older: so the oldest is always a leaf, and the tree never loses a page
// that others hang on.
//
// An index only: states, leases and contents are KvPool's, which owns it. Each operation costs the same however many
// pages there are. Deterministic; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/kv/key_table.h"
#include "model/kv/recency_list.h"
#include "runtime/ids.h"

namespace baton {

class PrefixCache final {
 public:
  // For pages numbered below `pages`.
  explicit PrefixCache(std::uint32_t pages) : nodes_(pages), idle_(pages) {}

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(table_.size()); }
  std::uint32_t idle() const noexcept { return idle_.size(); }  // pages that evict() can give
  std::uint32_t users(PageId page) const noexcept { return nodes_[page].users; }

  std::optional<PageId> find(std::uint64_t key) const noexcept {
    const std::uint32_t page = table_.find(key);
    return page == KeyTable::kNone ? std::nullopt : std::optional(page);
  }
  void expect(std::uint64_t key) const noexcept { table_.expect(key); }  // find() or add() is about to be asked

  // The pages of the longest prefix that is there, in order.
  std::vector<PageId> match(std::span<const std::uint64_t> keys) const;

  // Takes a page up, with one user. REQUIRES that neither page nor key is in.
  void add(std::uint64_t key, PageId page);

  void use(PageId page) noexcept;  // one user more
  // One user less for each page of a prefix, the last page first.
  void let_go(std::span<const PageId> path) noexcept;

  // Gives up the pages that nobody has used for longest. REQUIRES that so many are idle.
  std::vector<PageId> evict(std::uint32_t count);

 private:
  struct Node {
    std::uint64_t key = 0;
    std::uint32_t users = 0;
  };

  KeyTable table_;
  std::vector<Node> nodes_;  // by page
  RecencyList idle_;         // pages without users
};

}  // namespace baton
