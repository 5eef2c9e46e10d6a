#include "transport/inmemory/in_memory_hub.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

// A rank's thread copies at most this much before others on its context go on; about 100 us of memcpy.
constexpr std::size_t kSliceBytes = std::size_t{1} << 20;

// A few notices a room and thousands of rooms: who has more waiting does not run any more.
constexpr std::size_t kInboxMax = std::size_t{1} << 18;

bool fits(const KvWrite& write, const KvArena& arena) {
  return std::ranges::all_of(write.runs, [&](const PageRun& run) {
    const std::size_t bytes = run.pages * write.page_bytes;
    return bytes <= arena.bytes() && run.target * write.page_bytes <= arena.bytes() - bytes;
  });
}

// How far a write has been copied.
struct Progress {
  std::size_t run = 0;
  std::size_t bytes = 0;  // of that run
};

// Copies on from there, at most a slice. True while something is left.
bool copy_slice(const KvWrite& write, KvArena& arena, Progress& progress) {
  std::size_t room = kSliceBytes;
  while (progress.run < write.runs.size() && room > 0) {
    const PageRun& run = write.runs[progress.run];
    const std::size_t bytes = run.pages * write.page_bytes;
    const std::size_t slice = std::min(bytes - progress.bytes, room);
    std::memcpy(arena.base() + run.target * write.page_bytes + progress.bytes,
                write.source_arena + run.source * write.page_bytes + progress.bytes, slice);
    room -= slice;
    progress.bytes += slice;
    if (progress.bytes == bytes) {
      progress = {progress.run + 1, 0};
    }
  }
  return progress.run < write.runs.size();
}

}  // namespace

// The way into one rank's arena, on any thread. Shutting a writer out refuses its next slices and waits for the one
// that it is just copying, whatever others do.
class InMemoryHub::Gate final {
 public:
  // Runs the copy if the writer may pass; false if not.
  template <class Copy>
  bool pass(const PeerId& writer, Copy copy) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || fenced_.contains(writer)) {
        return false;
      }
      ++copying_[writer];
    }
    copy();
    const std::lock_guard lock(mutex_);
    if (--copying_[writer] == 0) {
      copying_.erase(writer);
    }
    copied_.notify_all();
    return true;
  }

  void fence(const PeerId& writer) {
    std::unique_lock lock(mutex_);
    fenced_.insert(writer);
    copied_.wait(lock, [&] { return !copying_.contains(writer); });
  }
  void forget(const PeerId& writer) {
    const std::lock_guard lock(mutex_);
    fenced_.erase(writer);
  }
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    copied_.wait(lock, [&] { return copying_.empty(); });
  }

 private:
  std::mutex mutex_;  // over what follows; not held while bytes are copied
  std::condition_variable copied_;
  std::map<PeerId, std::uint32_t> copying_;  // slices under way
  std::set<PeerId> fenced_;  // of the writers attached: one that has ended is forgotten, since it cannot come again
  bool closed_ = false;
};

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
    for (const auto* list : {&landing.pages, &landing.found_pages}) {
      const auto outside =
          std::ranges::find_if(*list, [pages = target->arena->pages()](PageId page) { return page >= pages; });
      if (outside != list->end()) {
        return Failure(Errc::invalid_argument, to_string(self_),
                       fmt::format("page {} is outside of an arena of {}", *outside, target->arena->pages()));
      }
    }
    return std::nullopt;
  }

  void fence(const PeerId& peer) noexcept override { hub_.fence(self_, peer); }

  Task<Result<>> write(KvWrite write) override {
    const auto target = hub_.find(write.target);
    if (!target || target->arena == nullptr || target->memory_key != write.memory_key) {
      co_return Errc::peer_lost;
    }
    Progress progress;
    for (bool more = true, first = true; more; first = false) {
      if (!first) {
        co_await yield(context_);  // others on this context have their turn
      }
      // The arena may have ended since the look-up: it is touched behind the gate only.
      bool fitting = true;
      const bool passed = target->gate->pass(self_, [&] {
        fitting = !first || fits(write, *target->arena);
        more = fitting && target->arena->has_memory() && copy_slice(write, *target->arena, progress);
      });
      if (!passed) {
        co_return Errc::peer_lost;
      }
      if (!fitting) {
        co_return Errc::transfer_failed;
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
  const bool first = ranks_.try_emplace(self, Rank{endpoint->inbox(), arena, key, std::make_shared<Gate>()}).second;
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
  std::shared_ptr<Gate> own;
  std::vector<std::shared_ptr<Gate>> others;
  {
    const std::lock_guard lock(mutex_);
    own = ranks_.at(peer).gate;
    ranks_.erase(peer);
    for (const auto& [other, rank] : ranks_) {
      others.push_back(rank.gate);
    }
  }
  own->close();
  for (const auto& gate : others) {
    gate->forget(peer);
  }
}

void InMemoryHub::fence(const PeerId& target, const PeerId& writer) noexcept {
  const auto rank = find(target);
  if (rank && find(writer)) {
    rank->gate->fence(writer);
  }
}

void InMemoryHub::deliver(const PeerId& to, Notice notice) noexcept {
  const auto rank = find(to);
  if (!rank || !rank->inbox.push(std::move(notice))) {
    const std::lock_guard lock(mutex_);
    ++lost_notices_;
  }
}

}  // namespace baton
