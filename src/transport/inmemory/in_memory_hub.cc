#include "transport/inmemory/in_memory_hub.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

// A rank's thread copies at most this much before others on its context go on; about 100 us of memcpy.
constexpr std::size_t kSliceBytes = std::size_t{1} << 20;

// A few notices a room and thousands of rooms: who has more waiting does not run any more.
constexpr std::size_t kInboxMax = std::size_t{1} << 18;

}  // namespace

class InMemoryEndpoint final : public Endpoint {
 public:
  InMemoryEndpoint(InMemoryHub& hub, Context& context, const PeerId& self, std::uint64_t memory_key)
      : hub_(hub),
        context_(context),
        self_(self),
        memory_key_(memory_key),
        inbox_(context, to_string(self) + " notices", kInboxMax) {}
  InMemoryEndpoint(const InMemoryEndpoint&) = delete;
  InMemoryEndpoint& operator=(const InMemoryEndpoint&) = delete;
  ~InMemoryEndpoint() override { hub_.detach(self_); }

  const PeerId& self() const noexcept override { return self_; }
  std::uint64_t memory_key() const noexcept override { return memory_key_; }
  Mailbox<Notice>::Sender inbox() const noexcept { return inbox_.sender(); }

  std::byte* direct_arena(const Landing& landing) noexcept override {
    const auto target = hub_.find(landing.target);
    return hub_.mode() == MemoryMode::shared && target && target->arena != nullptr ? target->arena->base() : nullptr;
  }

  std::optional<Failure> check(const Landing& landing) override {
    const auto target = hub_.find(landing.target);
    if (!target) {
      return Failure(Errc::peer_lost, to_string(self_), to_string(landing.target) + " is not here");
    }
    if (target->arena == nullptr || target->memory_key != landing.memory_key) {
      return Failure(Errc::peer_lost, to_string(self_),
                     fmt::format("{} has no memory under key {}", to_string(landing.target), landing.memory_key));
    }
    const auto outside =
        std::ranges::find_if(landing.pages, [pages = target->arena->pages()](PageId page) { return page >= pages; });
    if (outside != landing.pages.end()) {
      return Failure(Errc::invalid_argument, to_string(self_),
                     fmt::format("page {} is outside of an arena of {}", *outside, target->arena->pages()));
    }
    return std::nullopt;
  }

  Task<Result<>> write(KvWrite write) override {
    const auto target = hub_.find(write.target);
    if (!target || target->arena == nullptr || target->memory_key != write.memory_key) {
      co_return Errc::peer_lost;
    }
    std::size_t copied = 0;  // since the others had their turn
    for (const PageRun& run : write.runs) {
      const std::byte* source = write.source_arena + run.source * write.page_bytes;
      const std::size_t offset = run.target * write.page_bytes;
      const std::size_t bytes = run.pages * write.page_bytes;
      if (bytes > target->arena->bytes() || offset > target->arena->bytes() - bytes) {
        co_return Errc::transfer_failed;
      }
      for (std::size_t done = 0; done < bytes;) {
        const std::size_t slice = std::min(bytes - done, kSliceBytes - copied);
        std::memcpy(target->arena->base() + offset + done, source + done, slice);
        done += slice;
        copied += slice;
        if (copied == kSliceBytes) {
          copied = 0;
          co_await yield(context_);
        }
      }
    }
    if (write.notice) {
      hub_.deliver(write.target, std::move(*write.notice));
    }
    co_return Result<>();
  }

  void post(const PeerId& to, Notice notice) noexcept override { hub_.deliver(to, std::move(notice)); }

  Task<std::optional<Notice>> next() override {
    auto notice = inbox_.try_recv();
    if (!notice) {
      notice = co_await inbox_.recv();
    }
    co_return notice;
  }

 private:
  InMemoryHub& hub_;
  Context& context_;
  PeerId self_;
  std::uint64_t memory_key_;
  Mailbox<Notice> inbox_;
};

InMemoryHub::~InMemoryHub() {
  BATON_CHECK(ranks_.empty(), ranks_.size());
}

std::unique_ptr<Endpoint> InMemoryHub::attach(Context& context, const PeerId& self, KvArena* arena) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = arena != nullptr ? next_key_++ : 0;
  auto endpoint = std::make_unique<InMemoryEndpoint>(*this, context, self, key);
  const bool first = ranks_.try_emplace(self, Rank{endpoint->inbox(), arena, key}).second;
  BATON_CHECK(first, to_string(self));
  return endpoint;
}

std::uint64_t InMemoryHub::lost_notices() const {
  const std::lock_guard lock(mutex_);
  return lost_notices_;
}

std::optional<InMemoryHub::Rank> InMemoryHub::find(const PeerId& peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = ranks_.find(peer);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

void InMemoryHub::detach(const PeerId& peer) noexcept {
  const std::lock_guard lock(mutex_);
  ranks_.erase(peer);
}

void InMemoryHub::deliver(const PeerId& to, Notice notice) noexcept {
  const auto rank = find(to);
  if (!rank || !rank->inbox.push(std::move(notice))) {
    const std::lock_guard lock(mutex_);
    ++lost_notices_;
  }
}

}  // namespace baton
