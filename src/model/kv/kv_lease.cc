#include "model/kv/kv_lease.h"

#include <utility>

#include "model/kv/kv_pool.h"
#include "runtime/check.h"

namespace baton {

KvPin::KvPin(KvPin&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      pages_(std::exchange(other.pages_, {})),
      path_(std::exchange(other.path_, {})) {}

KvPin& KvPin::operator=(KvPin&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    pages_ = std::exchange(other.pages_, {});
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

void KvPin::release() noexcept {
  if (KvPool* pool = std::exchange(pool_, nullptr)) {
    pool->end_pin(pages_, path_);
    pages_.clear();
    path_.clear();
  }
}

KvLease::KvLease(KvLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      pages_(std::exchange(other.pages_, {})),
      path_(std::exchange(other.path_, {})),
      found_(std::exchange(other.found_, 0)) {}

KvLease& KvLease::operator=(KvLease&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    pages_ = std::exchange(other.pages_, {});
    path_ = std::exchange(other.path_, {});
    found_ = std::exchange(other.found_, 0);
  }
  return *this;
}

KvPin KvLease::pin() const {
  BATON_CHECK(pool_ != nullptr);
  pool_->add_pin(pages_, path_);
  return {*pool_, pages_, path_};
}

void KvLease::release() noexcept {
  if (KvPool* pool = std::exchange(pool_, nullptr)) {
    pool->end_lease(pages_, path_);
    pages_.clear();
    path_.clear();
    found_ = 0;
  }
}

}  // namespace baton
