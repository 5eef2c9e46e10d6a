// Who may write which pages: a lease is the right to them, a pin says that something may still touch them.
//
//   free --acquire--> leased --lease ends, no pin--> free
//                      |  |
//                      |  +--lease ends, pinned--> quarantined --last pin ends--> free
//                      +--keep--> cached, read by any number of leases and pins --evicted--> free
//
// Both are handles into one KvPool, used on the pool's thread only, and end before the pool does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/kv/prefix_cache.h"
#include "runtime/ids.h"

namespace baton {

class KvPool;
class KvLease;

// Keeps pages from being given out again, whatever becomes of their lease: while bytes of them are being sent, or
// while a peer may still write into them.
class KvPin final {
 public:
  KvPin() = default;
  KvPin(KvPin&& other) noexcept;
  KvPin& operator=(KvPin&& other) noexcept;
  ~KvPin() { release(); }

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  std::span<const PageId> pages() const noexcept { return pages_; }
  void release() noexcept;  // the destructor's work, earlier; no effect the second time

 private:
  friend class KvLease;
  KvPin(KvPool& pool, std::vector<PageId> pages, PrefixCache::NodeId node)
      : pool_(&pool), pages_(std::move(pages)), node_(node) {}

  KvPool* pool_ = nullptr;
  std::vector<PageId> pages_;
  PrefixCache::NodeId node_ = PrefixCache::kRoot;  // as the lease's
};

// The pages of one sequence, in the order of its positions. Those of its prefix that are in the cache are there to be
// read only. Move-only; an empty one holds nothing.
class KvLease final {
 public:
  KvLease() = default;
  KvLease(KvLease&& other) noexcept;
  KvLease& operator=(KvLease&& other) noexcept;
  ~KvLease() { release(); }

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  std::span<const PageId> pages() const noexcept { return pages_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(pages_.size()); }

  // Of pages(), how many from the first on came out of the cache with their contents.
  std::uint32_t found() const noexcept { return found_; }

  // Pins the pages held now; pages that extend() adds later are not covered. REQUIRES a lease that holds a pool.
  KvPin pin() const;
  // Returns the pages to the pool: free where no pin holds them, else in quarantine until the last pin ends.
  void release() noexcept;

 private:
  friend class KvPool;
  KvLease(KvPool& pool, std::vector<PageId> pages, PrefixCache::NodeId node, std::uint32_t found)
      : pool_(&pool), pages_(std::move(pages)), node_(node), found_(found) {}

  KvPool* pool_ = nullptr;
  std::vector<PageId> pages_;
  // Up to where it uses the cache: the pages there are mostly, but not always, the first of pages_.
  PrefixCache::NodeId node_ = PrefixCache::kRoot;
  std::uint32_t found_ = 0;
};

}  // namespace baton
