#include "model/kv/prefix_cache.h"

#include "runtime/check.h"

namespace baton {

std::optional<PageId> PrefixCache::find(std::uint64_t key) const noexcept {
  const std::uint32_t page = table_.find(key);
  return page == KeyTable::kNone ? std::nullopt : std::optional(page);
}

std::vector<PageId> PrefixCache::match(std::span<const std::uint64_t> keys) const {
  std::vector<PageId> pages;
  for (const std::uint64_t key : keys) {
    const std::uint32_t page = table_.find(key);
    if (page == KeyTable::kNone) {
      break;
    }
    pages.push_back(page);
  }
  return pages;
}

void PrefixCache::add(std::uint64_t key, PageId page) {
  BATON_CHECK(nodes_[page].users == 0 && !idle_.contains(page), page, nodes_[page].users);
  table_.add(key, page);
  nodes_[page] = {key, 1};
}

void PrefixCache::use(PageId page) noexcept {
  if (nodes_[page].users++ == 0) {
    idle_.remove(page);
  }
}

void PrefixCache::let_go(std::span<const PageId> path) noexcept {
  for (auto page = path.rbegin(); page != path.rend(); ++page) {
    Node& node = nodes_[*page];
    BATON_CHECK(node.users > 0, *page);
    if (--node.users == 0) {
      idle_.add(*page);
    }
  }
}

PageId PrefixCache::evict() noexcept {
  const PageId page = idle_.oldest();
  idle_.remove(page);
  table_.remove(nodes_[page].key);
  return page;
}

}  // namespace baton
