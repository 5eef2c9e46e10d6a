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
  const PrefixCache::Match match = cache_ ? cache_->match(prefix) : PrefixCache::Match();
  if (pages - match.pages > available() - match.idle) {
    return std::nullopt;
  }
  std::vector<PageId> taken;
  taken.reserve(pages);
  PrefixCache::NodeId node = PrefixCache::kRoot;
  if (match.pages > 0) {
    cache_->append_pages(match, taken);
    check_contents(taken);
    node = mutant(Mutant::found_pages_unheld) ? PrefixCache::kRoot : cache_->hold(match);
  }
  take(pages - match.pages, taken);
  counts_.asked += prefix.size();
  counts_.found += match.pages;
  return KvLease(*this, std::move(taken), node, match.pages);
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
  if (!cache_ || cache_->depth(lease.node_) >= prefix.size()) {
    return;
  }
  lease.node_ = cache_->hold(cache_->match(prefix, lease.node_), lease.node_);
  const std::uint32_t known = cache_->depth(lease.node_);
  std::uint32_t end = known;
  while (end < prefix.size() && pages_[lease.pages_[end]].pins == 0) {
    ++end;
  }
  const std::span<const PageId> kept = std::span(lease.pages_).subspan(known, end - known);
  for (const PageId id : kept) {
    Page& page = pages_[id];
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    page.state = PageState::cached;
    if (!contents_.empty()) {
      contents_[id] = hash_of(poisoned_->page(id));
    }
  }
  leased_ -= static_cast<std::uint32_t>(kept.size());
  lease.node_ = cache_->add(lease.node_, prefix.subspan(known, kept.size()), kept);
}

std::uint32_t KvPool::found_in_use(std::span<const std::uint64_t> prefix) const {
  const PrefixCache::Match match = cache_ ? cache_->match(prefix) : PrefixCache::Match();
  return match.pages - match.idle;  // who uses a page uses all before it
}

std::uint32_t KvPool::returned_by(const KvLease& lease) const {
  const auto own = std::ranges::count_if(
      lease.pages_, [this](PageId page) { return pages_[page].state == PageState::leased && pages_[page].pins == 0; });
  return static_cast<std::uint32_t>(own) + (cache_ ? cache_->used_once(lease.node_) : 0);
}

void KvPool::shrink(KvLease& lease, std::uint32_t keep) {
  BATON_CHECK(lease.pool_ == this);
  if (keep >= lease.size()) {
    return;
  }
  end_lease(std::span(lease.pages_).subspan(keep), PrefixCache::kRoot);
  lease.pages_.resize(keep);
}

PageState KvPool::state(PageId page) const {
  return at(page).state;
}

std::uint32_t KvPool::generation(PageId page) const {
  return at(page).generation;
}

void KvPool::take(std::uint32_t count, std::vector<PageId>& into) {
  if (free() < count) {
    evict(count - free());
  }
  const std::size_t first = into.size();
  free_.take_lowest(count, into);
  const std::span<const PageId> taken = std::span(into).subspan(first);
  check_poison(taken);
  for (const PageId id : taken) {
    Page& page = pages_[id];
    BATON_CHECK(page.state == PageState::free && page.pins == 0, id, page.pins, page.generation);
    page.state = PageState::leased;
    ++page.generation;
  }
  leased_ += count;
  if (mutant(Mutant::given_page_stays_free)) {
    free_.add(taken);
  }
}

void KvPool::evict(std::uint32_t count) {
  std::vector<PageId> evicted;
  evicted.reserve(count);
  cache_->evict(count, evicted);
  check_contents(evicted);
  for (const PageId id : evicted) {
    BATON_CHECK(pages_[id].state == PageState::cached, id, pages_[id].generation);
  }
  give_back(evicted);
  counts_.evicted += count;
}

void KvPool::end_lease(std::span<const PageId> pages, PrefixCache::NodeId node) noexcept {
  const std::uint32_t available_before = available();
  let_go(node);
  std::uint32_t quarantined = 0;
  back_.clear();
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state == PageState::cached) {
      continue;  // the cache's, from its node upwards
    }
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    if (page.pins > 0 && !mutant(Mutant::pinned_pages_return)) {
      page.state = PageState::quarantined;
      ++quarantined;
    } else {
      back_.push_back(id);
    }
  }
  quarantined_ += quarantined;
  leased_ -= quarantined + static_cast<std::uint32_t>(back_.size());
  give_back(back_);
  tell_pages_back(available_before);
}

// What is of the cache is used once more; the rest is kept from being given out again.
void KvPool::add_pin(std::span<const PageId> pages, PrefixCache::NodeId node) {
  if (cache_) {
    cache_->use(node);
  }
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state != PageState::cached) {
      BATON_CHECK(page.state == PageState::leased, id, page.generation);
      ++page.pins;
    }
  }
}

void KvPool::end_pin(std::span<const PageId> pages, PrefixCache::NodeId node) noexcept {
  const std::uint32_t available_before = available();
  let_go(node);
  back_.clear();
  for (const PageId id : pages) {
    Page& page = pages_[id];
    if (page.state == PageState::cached) {
      continue;  // it was so when the pin was made: a pinned page never gets there
    }
    BATON_CHECK(page.pins > 0 && page.state != PageState::free, id, page.pins);
    if (--page.pins == 0 && page.state == PageState::quarantined) {
      back_.push_back(id);
    }
  }
  quarantined_ -= static_cast<std::uint32_t>(back_.size());
  give_back(back_);
  tell_pages_back(available_before);
}

void KvPool::let_go(PrefixCache::NodeId node) noexcept {
  if (cache_) {
    cache_->let_go(node);
  }
}

void KvPool::give_back(std::span<const PageId> pages) noexcept {
  for (const PageId id : pages) {
    pages_[id].state = PageState::free;
  }
  if (poisoned_ != nullptr) {
    for (const PageId id : pages) {
      poisoned_->poison(id);
    }
  }
  free_.add(pages);
}

void KvPool::tell_pages_back(std::uint32_t available_before) noexcept {
  if (pages_back_ && available() > available_before) {
    pages_back_();
  }
}

void KvPool::check_poison(std::span<const PageId> pages) const {
  if (poisoned_ == nullptr) {
    return;
  }
  for (const PageId id : pages) {
    BATON_CHECK(poisoned_->poisoned(id), id, pages_[id].generation);
  }
}

void KvPool::check_contents(std::span<const PageId> pages) const {
  if (contents_.empty()) {
    return;
  }
  for (const PageId id : pages) {
    BATON_CHECK(contents_[id] == hash_of(poisoned_->page(id)), id, pages_[id].generation);
  }
}

const KvPool::Page& KvPool::at(PageId page) const {
  BATON_CHECK(page < capacity(), page, capacity());
  return pages_[page];
}

}  // namespace baton
