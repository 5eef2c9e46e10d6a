#include "model/kv/kv_lease.h"

#include <utility>

#include "model/kv/kv_pool.h"
#include "runtime/check.h"

namespace baton {

KvPin::KvPin(KvPin&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      pages_(std::exchange(other.pages_, {})),
      node_(std::exchange(other.node_, PrefixCache::kRoot)) {}

KvPin& KvPin::operator=(KvPin&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    pages_ = std::exchange(other.pages_, {});
    node_ = std::exchange(other.node_, PrefixCache::kRoot);
  }
  return *this;
}

void KvPin::release() noexcept {
  if (KvPool* pool = std::exchange(pool_, nullptr)) {
    pool->end_pin(pages_, node_);
    pages_.clear();
    node_ = PrefixCache::kRoot;
  }
}

KvLease::KvLease(KvLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      pages_(std::exchange(other.pages_, {})),
      node_(std::exchange(other.node_, PrefixCache::kRoot)),
      found_(std::exchange(other.found_, 0)) {}

KvLease& KvLease::operator=(KvLease&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    pages_ = std::exchange(other.pages_, {});
    node_ = std::exchange(other.node_, PrefixCache::kRoot);
    found_ = std::exchange(other.found_, 0);
  }
  return *this;
}

KvPin KvLease::pin() const {
  BATON_CHECK(pool_ != nullptr);
  pool_->add_pin(pages_, node_);
  return {*pool_, pages_, node_};
}

void KvLease::release() noexcept {
  if (KvPool* pool = std::exchange(pool_, nullptr)) {
    pool->end_lease(pages_, node_);
    pages_.clear();
    node_ = PrefixCache::kRoot;
    found_ = 0;
  }
}

}  // namespace baton
