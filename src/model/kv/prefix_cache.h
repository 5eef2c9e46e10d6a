// Which pages hold which prefix: the index of a pool's cached pages, and the order in which they are given up.
//
// A radix tree whose edges are runs of pages. Keys are chained (prefix_keys.h): two prompts that part never meet again.
//
//   root --[k0 k1 k2 | pages]--> a --[k3 k4 | pages]--> b        a table finds the child of a node by its first key;
//                                '--[x3 | pages]------> c        within a run keys are compared one after the other
//
// A prompt that ends or parts inside of a run splits it. The lower part keeps the node's number, so whoever holds a
// node holds the same pages for as long as it does. A node counts its users, each of whom uses all nodes above as well;
// those without stand in order of their last use, and of nodes let go together the lower are the older. So the oldest
// is always a leaf, and pages are taken from its end: what others hang on is never lost.
//
// An index only: states, leases and contents are KvPool's, which owns it. Deterministic; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/kv/key_table.h"
#include "model/kv/recency_list.h"
#include "runtime/ids.h"

namespace baton {

class PrefixCache final {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;  // the empty prefix: it has no pages, and holding it holds nothing

  // How far a walk came. It may end inside of the node's run.
  struct Match {
    NodeId node = kRoot;
    std::uint32_t pages = 0;  // on the way from the root
    std::uint32_t idle = 0;   // of those that the walk passed, pages nobody uses
  };

  // For pages numbered below `pages`.
  explicit PrefixCache(std::uint32_t pages);

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t idle() const noexcept { return idle_pages_; }  // pages that evict() can give

  // The longest prefix that is there. With `from`, a node that holds the first of these keys, the walk starts there.
  Match match(std::span<const std::uint64_t> keys, NodeId from = kRoot) const;
  // The pages of a match, in order, at the end of `into`.
  void append_pages(const Match& match, std::vector<PageId>& into) const;

  // Pages from the root to the end of the node.
  std::uint32_t depth(NodeId node) const noexcept { return nodes_[node].start + run_of(node); }
  // Pages that would become idle if one user of the node let go.
  std::uint32_t used_once(NodeId node) const noexcept;

  // One user more for the pages of a match, made just now; the node to let go of later. Who holds `from` already, where
  // the walk started, holds the result instead of it.
  NodeId hold(const Match& match, NodeId from = kRoot);
  void use(NodeId node) noexcept;     // one user more for it and all above
  void let_go(NodeId node) noexcept;  // one less

  // Takes pages up behind a node that the caller holds: it holds the result instead. REQUIRES that match() found none
  // of the keys there, and that none of the pages is in. Nothing happens if there are none.
  NodeId add(NodeId parent, std::span<const std::uint64_t> keys, std::span<const PageId> pages);

  // Gives up the pages that nobody has used for longest, and appends them. REQUIRES that so many are idle.
  void evict(std::uint32_t count, std::vector<PageId>& into);

 private:
  struct Node {
    std::vector<std::uint64_t> keys;
    std::vector<PageId> pages;  // as many
    NodeId parent = kRoot;
    std::uint32_t start = 0;  // pages above
    std::uint32_t users = 0;
    std::uint32_t children = 0;
  };

  std::uint32_t run_of(NodeId node) const noexcept { return static_cast<std::uint32_t>(nodes_[node].pages.size()); }
  NodeId child(NodeId parent, std::uint64_t key) const noexcept;  // KeyTable::kNone if there is none
  NodeId make_node();
  NodeId split(NodeId node, std::uint32_t at);
  void remove_leaf(NodeId node, std::uint64_t first_key) noexcept;

  std::vector<Node> nodes_;  // the root first
  std::vector<NodeId> spare_;
  KeyTable children_;  // by first keys, which nodes under different parents may share if keys are not chained
  RecencyList idle_;   // nodes without users
  std::uint32_t size_ = 0;
  std::uint32_t idle_pages_ = 0;
};

}  // namespace baton
