#include "model/kv/kv_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/check.h"
#include "runtime/mutants.h"

namespace baton {

KvPool::KvPool(const KvLayout& layout, std::uint32_t pages, KvArena* poisoned)
    : layout_(layout), poisoned_(poisoned), pages_(pages) {
  BATON_CHECK(pages > 0 && pages < 1U << 31, pages);
  BATON_CHECK(poisoned == nullptr || (poisoned->layout() == layout && poisoned->pages() >= pages));
  free_.reserve(pages);
  for (PageId page = 0; page < pages; ++page) {
    free_.push_back(page);  // rising order is a heap already
    if (poisoned_ != nullptr) {
      poisoned_->poison(page);
    }
  }
}

KvPool::~KvPool() {
  BATON_CHECK(drained(), leased_, quarantined_, capacity());
}

std::optional<KvLease> KvPool::acquire(std::uint32_t pages) {
  if (pages > free()) {
    return std::nullopt;
  }
  std::vector<PageId> taken;
  take(pages, taken);
  return KvLease(*this, std::move(taken));
}

bool KvPool::extend(KvLease& lease, std::uint32_t more_pages) {
  BATON_CHECK(lease.pool_ == this);
  if (more_pages > free()) {
    return false;
  }
  take(more_pages, lease.pages_);
  return true;
}

PageState KvPool::state(PageId page) const {
  return at(page).state;
}

std::uint32_t KvPool::generation(PageId page) const {
  return at(page).generation;
}

void KvPool::take(std::uint32_t count, std::vector<PageId>& into) {
  into.reserve(into.size() + count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::ranges::pop_heap(free_, std::greater<>());
    const PageId id = free_.back();
    if (!mutant(Mutant::given_page_stays_free)) {
      free_.pop_back();
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

void KvPool::end_lease(const std::vector<PageId>& pages) noexcept {
  const std::uint32_t free_before = free();
  for (const PageId id : pages) {
    Page& page = pages_[id];
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    --leased_;
    if (page.pins > 0 && !mutant(Mutant::pinned_pages_return)) {
      page.state = PageState::quarantined;
      ++quarantined_;
    } else {
      give_back(id);
    }
  }
  tell_pages_back(free_before);
}

void KvPool::add_pin(const std::vector<PageId>& pages) {
  for (const PageId id : pages) {
    Page& page = pages_[id];
    BATON_CHECK(page.state == PageState::leased, id, page.generation);
    ++page.pins;
  }
}

void KvPool::end_pin(const std::vector<PageId>& pages) noexcept {
  const std::uint32_t free_before = free();
  for (const PageId id : pages) {
    Page& page = pages_[id];
    BATON_CHECK(page.pins > 0 && page.state != PageState::free, id, page.pins);
    if (--page.pins == 0 && page.state == PageState::quarantined) {
      --quarantined_;
      give_back(id);
    }
  }
  tell_pages_back(free_before);
}

void KvPool::give_back(PageId id) noexcept {
  if (poisoned_ != nullptr) {
    poisoned_->poison(id);
  }
  pages_[id].state = PageState::free;
  free_.push_back(id);  // capacity was reserved
  std::ranges::push_heap(free_, std::greater<>());
}

void KvPool::tell_pages_back(std::uint32_t free_before) noexcept {
  if (pages_back_ && free() > free_before) {
    pages_back_();
  }
}

const KvPool::Page& KvPool::at(PageId page) const {
  BATON_CHECK(page < capacity(), page, capacity());
  return pages_[page];
}

}  // namespace baton
