#include "model/kv/prefix_cache.h"

#include <algorithm>

#include "runtime/check.h"

namespace baton {

// Each node but the root has a page at least, so there are never more of them than that.
PrefixCache::PrefixCache(std::uint32_t pages) : nodes_(1), idle_(pages + 1) {}

PrefixCache::Match PrefixCache::match(std::span<const std::uint64_t> keys, NodeId from) const {
  Match match{from, depth(from), 0};
  while (match.pages < keys.size()) {
    const NodeId next = child(match.node, keys[match.pages]);
    if (next == KeyTable::kNone) {
      break;
    }
    const Node& node = nodes_[next];
    const std::span<const std::uint64_t> left = keys.subspan(match.pages);
    const auto parted = std::mismatch(node.keys.begin(), node.keys.end(), left.begin(), left.end()).first;
    const auto common = static_cast<std::uint32_t>(parted - node.keys.begin());
    match = {next, match.pages + common, match.idle + (node.users == 0 ? common : 0)};
    if (common < node.keys.size()) {
      break;
    }
  }
  return match;
}

void PrefixCache::append_pages(const Match& match, std::vector<PageId>& into) const {
  const auto first = static_cast<std::ptrdiff_t>(into.size());
  into.resize(into.size() + match.pages);
  for (NodeId id = match.node; id != kRoot; id = nodes_[id].parent) {
    const Node& node = nodes_[id];
    const std::size_t pages = std::min<std::size_t>(node.pages.size(), match.pages - node.start);
    std::copy_n(node.pages.begin(), pages, into.begin() + first + node.start);
  }
}

std::uint32_t PrefixCache::used_once(NodeId id) const noexcept {
  std::uint32_t pages = 0;
  for (; id != kRoot && nodes_[id].users == 1; id = nodes_[id].parent) {
    pages += run_of(id);
  }
  return pages;
}

PrefixCache::NodeId PrefixCache::hold(const Match& match, NodeId from) {
  const NodeId last = match.pages < depth(match.node) ? split(match.node, match.pages) : match.node;
  use(last);
  let_go(from);
  return last;
}

void PrefixCache::use(NodeId id) noexcept {
  for (; id != kRoot; id = nodes_[id].parent) {
    if (nodes_[id].users++ == 0) {
      idle_.remove(id);
      idle_pages_ -= run_of(id);
    }
  }
}

void PrefixCache::let_go(NodeId id) noexcept {
  for (; id != kRoot; id = nodes_[id].parent) {
    BATON_CHECK(nodes_[id].users > 0, id);
    if (--nodes_[id].users == 0) {
      idle_.add(id);
      idle_pages_ += run_of(id);
    }
  }
}

PrefixCache::NodeId PrefixCache::add(NodeId parent, std::span<const std::uint64_t> keys,
                                     std::span<const PageId> pages) {
  BATON_CHECK(keys.size() == pages.size(), keys.size(), pages.size());
  if (keys.empty()) {
    return parent;
  }
  BATON_CHECK(parent == kRoot || nodes_[parent].users > 0, parent);
  const NodeId id = make_node();
  Node& node = nodes_[id];
  node.keys.assign(keys.begin(), keys.end());
  node.pages.assign(pages.begin(), pages.end());
  node.parent = parent;
  node.start = depth(parent);
  node.users = 1;
  ++nodes_[parent].children;
  children_.add(keys.front(), id);
  size_ += run_of(id);
  return id;
}

void PrefixCache::evict(std::uint32_t count, std::vector<PageId>& into) {
  BATON_CHECK(count <= idle_pages_, count, idle_pages_);
  size_ -= count;
  idle_pages_ -= count;
  while (count > 0) {
    const NodeId id = idle_.oldest();
    Node& node = nodes_[id];
    BATON_CHECK(node.children == 0 && node.users == 0, id, node.children, node.users);
    const std::uint32_t kept = run_of(id) - std::min(count, run_of(id));
    const std::uint64_t first_key = node.keys.front();
    count -= run_of(id) - kept;
    into.insert(into.end(), node.pages.begin() + kept, node.pages.end());
    node.pages.resize(kept);
    node.keys.resize(kept);
    if (kept == 0) {
      remove_leaf(id, first_key);
    }
  }
}

PrefixCache::NodeId PrefixCache::child(NodeId parent, std::uint64_t key) const noexcept {
  return children_.find_if(key, [&](NodeId node) { return nodes_[node].parent == parent; });
}

PrefixCache::NodeId PrefixCache::make_node() {
  if (spare_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId id = spare_.back();
  spare_.pop_back();
  return id;
}

// The first `at` pages of the node's path stay together as a new node above it, without users of its own: those of the
// lower part are counted in both. Of two idle parts the lower one stays where it is in the order, and the upper one is
// about to be used.
PrefixCache::NodeId PrefixCache::split(NodeId lower_id, std::uint32_t at) {
  const NodeId upper_id = make_node();
  Node& lower = nodes_[lower_id];
  Node& upper = nodes_[upper_id];
  const auto count = static_cast<std::ptrdiff_t>(at - lower.start);
  BATON_CHECK(count > 0 && static_cast<std::size_t>(count) < lower.pages.size(), at, lower.start);
  upper.keys.assign(lower.keys.begin(), lower.keys.begin() + count);
  upper.pages.assign(lower.pages.begin(), lower.pages.begin() + count);
  upper.parent = lower.parent;
  upper.start = lower.start;
  upper.users = lower.users;
  upper.children = 1;
  children_.remove(lower.keys.front(), lower_id);
  lower.keys.erase(lower.keys.begin(), lower.keys.begin() + count);
  lower.pages.erase(lower.pages.begin(), lower.pages.begin() + count);
  lower.parent = upper_id;
  lower.start = at;
  children_.add(upper.keys.front(), upper_id);
  children_.add(lower.keys.front(), lower_id);
  if (upper.users == 0) {
    idle_.add(upper_id);
  }
  return upper_id;
}

void PrefixCache::remove_leaf(NodeId id, std::uint64_t first_key) noexcept {
  idle_.remove(id);
  children_.remove(first_key, id);
  --nodes_[nodes_[id].parent].children;
  nodes_[id] = Node();
  spare_.push_back(id);
}

}  // namespace baton
