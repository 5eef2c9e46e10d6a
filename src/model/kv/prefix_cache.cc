#include "model/kv/prefix_cache.h"

#include "runtime/check.h"

namespace baton {
namespace {

constexpr std::size_t kAhead = 8;  // look-ups that are under way at a time

}  // namespace

std::vector<PageId> PrefixCache::match(std::span<const std::uint64_t> keys) const {
  std::vector<PageId> pages;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) {
      table_.expect(keys[i + kAhead]);
    }
    const std::uint32_t page = table_.find(keys[i]);
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

std::vector<PageId> PrefixCache::evict(std::uint32_t count) {
  BATON_CHECK(count <= idle(), count, idle());
  std::vector<PageId> pages;
  pages.reserve(count);
  PageId page = idle_.oldest();
  for (std::uint32_t i = 0; i < count; ++i) {
    pages.push_back(page);
    page = i + 1 < count ? idle_.after(page) : page;
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i + kAhead < pages.size()) {
      table_.expect(nodes_[pages[i + kAhead]].key);
    }
    idle_.remove(pages[i]);
    table_.remove(nodes_[pages[i]].key);
  }
  return pages;
}

}  // namespace baton
