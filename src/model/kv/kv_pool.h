// Accounting of the pages of one arena, for one rank: every page is free, leased, cached or quarantined, and the four
// add up to the capacity.
//
// With a cache, pages of computed prompts outlive their leases: others with the same prefix read them, and acquire()
// takes those back that nobody has used for longest. Who has a page of the cache may read it; nobody writes it.
//
// Plain arithmetic without threads, clocks or awaits; one thread uses it. Free pages are given out lowest index first,
// so the same calls give the same pages, and neighbours come together, which keeps the runs of a transfer long.
// Waiting for pages is the roles' business.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/kv/kv_arena.h"
#include "model/kv/kv_layout.h"
#include "model/kv/kv_lease.h"
#include "model/kv/page_set.h"
#include "model/kv/prefix_cache.h"
#include "runtime/ids.h"

namespace baton {

enum class PageState : std::uint8_t { free, leased, cached, quarantined };

// What the cache of a pool has done since the pool was made.
struct CacheCounts {
  std::uint64_t asked = 0;    // pages with keys that leases were acquired for
  std::uint64_t found = 0;    // of these, pages that were there
  std::uint64_t evicted = 0;  // pages taken back
  friend bool operator==(const CacheCounts&, const CacheCounts&) = default;
};

class KvPool final {
 public:
  // With `poisoned` every free page of that arena is filled with a pattern, which acquire() and extend() find intact
  // or stop the program: a write that came after its lease was gone. It also keeps one tenant's values from the next.
  // Pages of the cache are compared with what they held, likewise. The arena has the same layout and at least as many
  // pages, and outlives the pool. Without `cache` nothing is ever cached.
  KvPool(const KvLayout& layout, std::uint32_t pages, KvArena* poisoned = nullptr, bool cache = false);
  ~KvPool();  // every lease and pin has ended, or it is a bug
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  // All of the pages or none: nullopt when fewer are available. Zero pages give a lease that can be extended.
  // `prefix` names what the first pages shall hold (prefix_keys.h): as many of them as the cache has are taken from
  // there, with their contents and to be read only, and KvLease::found() counts them.
  std::optional<KvLease> acquire(std::uint32_t pages, std::span<const std::uint64_t> prefix = {});
  // Adds pages at the end of a lease of this pool; false, and nothing changed, when fewer are available.
  bool extend(KvLease& lease, std::uint32_t more_pages);
  // Gives the pages behind the first `keep` back. REQUIRES a lease of this pool without pins.
  void shrink(KvLease& lease, std::uint32_t keep);

  // The lease's first pages hold what `prefix` names, whole and for good: from now on the cache has them, and they may
  // not be written any more. Stops at a page that is pinned, since somebody may be writing it. What the cache has from
  // elsewhere stays, and the lease's own copy goes with the lease. REQUIRES that the lease has as many pages.
  void keep(KvLease& lease, std::span<const std::uint64_t> prefix);

  // Leading pages of the prefix that are in the cache and in use: whoever acquires them now takes nothing from
  // available().
  std::uint32_t found_in_use(std::span<const std::uint64_t> prefix) const;
  // Pages that would become available if this lease ended now.
  std::uint32_t returned_by(const KvLease& lease) const;

  const KvLayout& layout() const noexcept { return layout_; }
  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(pages_.size()); }
  std::uint32_t free() const noexcept { return free_.size(); }
  std::uint32_t leased() const noexcept { return leased_; }
  std::uint32_t cached() const noexcept { return cache_ ? cache_->size() : 0; }
  std::uint32_t quarantined() const noexcept { return quarantined_; }
  // What acquire() can give: the free pages, and those of the cache that nobody uses.
  std::uint32_t available() const noexcept { return free() + (cache_ ? cache_->idle() : 0); }
  bool drained() const noexcept { return available() == capacity(); }
  bool has_cache() const noexcept { return cache_.has_value(); }
  const CacheCounts& cache_counts() const noexcept { return counts_; }

  // Called once for each lease or pin whose end made pages available, even long after the lease was gone: admission
  // waits for it. One listener, which must not throw nor change the pool; an empty function takes it off.
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
  void evict(std::uint32_t count);
  void end_lease(std::span<const PageId> pages, PrefixCache::NodeId node) noexcept;
  void add_pin(std::span<const PageId> pages, PrefixCache::NodeId node);
  void end_pin(std::span<const PageId> pages, PrefixCache::NodeId node) noexcept;
  void let_go(PrefixCache::NodeId node) noexcept;
  void give_back(std::span<const PageId> pages) noexcept;
  void tell_pages_back(std::uint32_t available_before) noexcept;
  void check_poison(std::span<const PageId> pages) const;
  void check_contents(std::span<const PageId> pages) const;
  const Page& at(PageId page) const;

  KvLayout layout_;
  KvArena* poisoned_;
  std::vector<Page> pages_;
  PageSet free_;
  std::optional<PrefixCache> cache_;
  CacheCounts counts_;
  std::vector<PageId> back_;             // given back by the call under way; kept for its memory
  std::vector<std::uint64_t> contents_;  // of cached pages, as hashes; empty unless poisoned
  std::function<void()> pages_back_;
  std::uint32_t leased_ = 0;
  std::uint32_t quarantined_ = 0;
};

}  // namespace baton
