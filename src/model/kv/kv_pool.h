// Accounting of the pages of one arena, for one rank: every page is free, leased or quarantined, and the three add up
// to the capacity.
//
// Plain arithmetic without threads, clocks or awaits; one thread uses it. Free pages are given out lowest index first,
// so the same calls give the same pages, and neighbours come together, which keeps the runs of a transfer long.
// Waiting for pages is the roles' business.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_layout.h"
#include "model/kv/kv_lease.h"
#include "runtime/ids.h"

namespace baton {

enum class PageState : std::uint8_t { free, leased, quarantined };

class KvPool final {
 public:
  // With `poisoned` every free page of that arena is filled with a pattern, which acquire() and extend() find intact
  // or stop the program: a write that came after its lease was gone. It also keeps one tenant's values from the next.
  // The arena has the same layout and at least as many pages, and outlives the pool.
  KvPool(const KvLayout& layout, std::uint32_t pages, KvArena* poisoned = nullptr);
  ~KvPool();  // every lease and pin has ended, or it is a bug
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  // All of the pages or none: nullopt when fewer are free. Zero pages give a lease that can be extended.
  std::optional<KvLease> acquire(std::uint32_t pages);
  // Adds pages at the end of a lease of this pool; false, and nothing changed, when fewer are free.
  bool extend(KvLease& lease, std::uint32_t more_pages);

  const KvLayout& layout() const noexcept { return layout_; }
  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(pages_.size()); }
  std::uint32_t free() const noexcept { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t leased() const noexcept { return leased_; }
  std::uint32_t quarantined() const noexcept { return quarantined_; }
  bool drained() const noexcept { return free() == capacity(); }

  // Called once for each lease or pin whose end made pages free, even long after the lease was gone: admission waits
  // for it. One listener, which must not throw nor change the pool; an empty function takes it off.
  void on_pages_back(std::function<void()> listener) { pages_back_ = std::move(listener); }

  PageState state(PageId page) const;
  // How often the page has been given out: tells a page from the same page in another life.
  std::uint32_t generation(PageId page) const;

 private:
  friend class KvLease;
  friend class KvPin;

  struct Page {
    PageState state = PageState::free;
    std::uint32_t generation = 0;
    std::uint32_t pins = 0;
  };

  void take(std::uint32_t count, std::vector<PageId>& into);
  void end_lease(const std::vector<PageId>& pages) noexcept;
  void add_pin(const std::vector<PageId>& pages);
  void end_pin(const std::vector<PageId>& pages) noexcept;
  void give_back(PageId page) noexcept;
  void tell_pages_back(std::uint32_t free_before) noexcept;
  const Page& at(PageId page) const;

  KvLayout layout_;
  KvArena* poisoned_;
  std::vector<Page> pages_;
  std::vector<PageId> free_;  // a heap, lowest index on top
  std::function<void()> pages_back_;
  std::uint32_t leased_ = 0;
  std::uint32_t quarantined_ = 0;
};

}  // namespace baton
