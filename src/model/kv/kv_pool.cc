#include "model/kv/kv_pool.h"

#include <algorithm>
#include <utility>

#include <xxhash.h>

#include "runtime/check.h"
#include "runtime/mutants.h"

namespace baton {
namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

KvPool::KvPool(const KvLayout& layout, std::uint32_t pages, KvArena* poisoned, bool cache)
    : layout_(layout), poisoned_(poisoned), pages_(pages), free_(pages) {
  BATON_CHECK(pages > 0 && pages < 1U << 31, pages);
  BATON_CHECK(poisoned == nullptr || (poisoned->layout() == layout && poisoned->pages() >= pages));
  free_.fill();
  if (cache) {
    cache_.emplace(pages);
  }
  if (poisoned_ != nullptr) {
    contents_.resize(cache ? pages : 0);
    for (PageId page = 0; page < pages; ++page) {
      poisoned_->poison(page);
    }
  }
}

KvPool::~KvPool() {
  BATON_CHECK(drained(), leased_, quarantined_, free(), cached(), capacity());
}

std::optional<KvLease> KvPool::acquire(std::uint32_t pages, std::span<const std::uint64_t> prefix) {
  prefix = prefix.first(cache_ ? std::min<std::size_t>(prefix.size(), pages) : 0);
  std::vector<PageId> path;
  if (!prefix.empty()) {
    path = cache_->match(prefix);
  }
  const auto idle = static_cast<std::uint32_t>(
      std::count_if(path.begin(), path.end(), [this](PageId page) { return cache_->users(page) == 0; }));
  const auto found = static_cast<std::uint32_t>(path.size());
  if (pages - found > available() - idle) {
    return std::nullopt;
  }
  for (const PageId page : path) {
    check_contents(page);
    if (!mutant(Mutant::found_pages_unheld)) {
      cache_->use(page);
    }
  }
  std::vector<PageId> taken = path;
  take(pages - found, taken);
  counts_.asked += prefix.size();
  counts_.found += found;
  if (mutant(Mutant::found_pages_unheld)) {
    path.clear();
  }
  return KvLease(*this, std::move(taken), std::move(path), found);
}

bool KvPool::extend(KvLease& lease, std::uint32_t more_pages) {
  BATON_CHECK(lease.pool_ == this);
  if (more_pages > available()) {
    return false;
  }
  take(more_pages, lease.pages_);
  return true;
}

void KvPool::keep(KvLease& lease, std::span<const std::uint64_t> prefix) {
  BATON_CHECK(lease.pool_ == this && prefix.size() <= lease.pages_.size(), prefix.size(), lease.pages_.size());
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = lease.path_.size(); cache_ && i < prefix.size(); ++i) {
    if (i + kAhead < prefix.size()) {
      cache_->expect(prefix[i + kAhead]);
    }
    if (const std::optional<PageId> known = cache_->find(prefix[i])) {
      cache_->use(*known);
      lease.path_.push_back(*known);
      continue;
    }
    const PageId id = lease.pages_[i];
    Page& page = pages_[id];
    if (page.pins > 0) {
      return;
    }
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    page.state = PageState::cached;
    --leased_;
    cache_->add(prefix[i], id);
    lease.path_.push_back(id);
    if (!contents_.empty()) {
      contents_[id] = hash_of(poisoned_->page(id));
    }
  }
}

std::uint32_t KvPool::found_in_use(std::span<const std::uint64_t> prefix) const {
  std::uint32_t pages = 0;
  for (std::size_t i = 0; cache_ && i < prefix.size(); ++i) {
    const std::optional<PageId> page = cache_->find(prefix[i]);
    if (!page || cache_->users(*page) == 0) {
      break;
    }
    ++pages;
  }
  return pages;
}

std::uint32_t KvPool::returned_by(const KvLease& lease) const {
  const auto own = std::count_if(lease.pages_.begin(), lease.pages_.end(), [this](PageId page) {
    return pages_[page].state == PageState::leased && pages_[page].pins == 0;
  });
  const auto shared =
      std::count_if(lease.path_.begin(), lease.path_.end(), [this](PageId page) { return cache_->users(page) == 1; });
  return static_cast<std::uint32_t>(own + shared);
}

void KvPool::shrink(KvLease& lease, std::uint32_t keep) {
  BATON_CHECK(lease.pool_ == this);
  if (keep >= lease.size()) {
    return;
  }
  const std::vector<PageId> back(lease.pages_.begin() + keep, lease.pages_.end());
  lease.pages_.resize(keep);
  end_lease(back, {});
}

PageState KvPool::state(PageId page) const {
  return at(page).state;
}

std::uint32_t KvPool::generation(PageId page) const {
  return at(page).generation;
}

void KvPool::take(std::uint32_t count, std::vector<PageId>& into) {
  into.reserve(into.size() + count);
  if (free() < count) {
    evict(count - free());
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const PageId id = free_.lowest();
    if (!mutant(Mutant::given_page_stays_free)) {
      free_.remove(id);
    }
    Page& page = pages_[id];
    BATON_CHECK(page.state == PageState::free && page.pins == 0, id, page.pins, page.generation);
    BATON_CHECK(poisoned_ == nullptr || poisoned_->poisoned(id), id, page.generation);
    page.state = PageState::leased;
    ++page.generation;
    ++leased_;
    into.push_back(id);
  }
}

void KvPool::evict(std::uint32_t count) {
  for (const PageId id : cache_->evict(count)) {
    BATON_CHECK(pages_[id].state == PageState::cached, id, pages_[id].generation);
    check_contents(id);
    give_back(id);
  }
  counts_.evicted += count;
}

void KvPool::end_lease(const std::vector<PageId>& pages, const std::vector<PageId>& path) noexcept {
  const std::uint32_t available_before = available();
  let_go(path);
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state == PageState::cached) {
      continue;  // of the path
    }
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    --leased_;
    if (page.pins > 0 && !mutant(Mutant::pinned_pages_return)) {
      page.state = PageState::quarantined;
      ++quarantined_;
    } else {
      give_back(id);
    }
  }
  tell_pages_back(available_before);
}

// What is of the cache is used once more; the rest is kept from being given out again.
void KvPool::add_pin(const std::vector<PageId>& pages, const std::vector<PageId>& path) {
  for (const PageId id : path) {
    cache_->use(id);
  }
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state != PageState::cached) {
      BATON_CHECK(page.state == PageState::leased, id, page.generation);
      ++page.pins;
    }
  }
}

void KvPool::end_pin(const std::vector<PageId>& pages, const std::vector<PageId>& path) noexcept {
  const std::uint32_t available_before = available();
  let_go(path);
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state == PageState::cached) {
      continue;  // it was so when the pin was made: a pinned page never gets there
    }
    BATON_CHECK(page.pins > 0 && page.state != PageState::free, id, page.pins);
    if (--page.pins == 0 && page.state == PageState::quarantined) {
      --quarantined_;
      give_back(id);
    }
  }
  tell_pages_back(available_before);
}

void KvPool::let_go(const std::vector<PageId>& path) noexcept {
  if (!path.empty()) {
    cache_->let_go(path);
  }
}

void KvPool::give_back(PageId id) noexcept {
  if (poisoned_ != nullptr) {
    poisoned_->poison(id);
  }
  pages_[id].state = PageState::free;
  free_.add(id);
}

void KvPool::tell_pages_back(std::uint32_t available_before) noexcept {
  if (pages_back_ && available() > available_before) {
    pages_back_();
  }
}

void KvPool::check_contents(PageId id) const {
  BATON_CHECK(contents_.empty() || contents_[id] == hash_of(poisoned_->page(id)), id, pages_[id].generation);
}

const KvPool::Page& KvPool::at(PageId page) const {
  BATON_CHECK(page < capacity(), page, capacity());
  return pages_[page];
}

}  // namespace baton
