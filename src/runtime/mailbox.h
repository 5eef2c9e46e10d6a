// Mailbox<T>: a rank's inbox, pushed to from any rank or thread, read by coroutines of the owner's context.
//
// A push from the owner's own context is in the box at once, one from elsewhere arrives with the owner's next turn;
// pushes of one thread keep their order. The box holds at most `limit` items, arrived or under way: senders are
// expected to stay below by protocol, and a push beyond it is refused. Push after close, or to a context that has
// ended, is refused too. A Sender stays safe to use when the Mailbox, or its context, is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/channel.h"
#include "runtime/context.h"

namespace baton {

template <class T>
class Mailbox final {
  struct State;

 public:
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 16;

  // The sending side, to copy and keep. Any thread.
  class Sender final {
   public:
    Sender() = default;  // sends nowhere
    // False: closed, full, or its context is gone; the item is destroyed.
    bool push(T item) const { return state_ != nullptr && Mailbox::push(state_, std::move(item)); }

   private:
    friend class Mailbox;
    explicit Sender(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  Mailbox(Context& owner, std::string name, std::size_t limit = kDefaultLimit)
      : state_(std::make_shared<State>(owner, std::move(name), limit)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Owner's thread, or when the owner does not run. Items under way are dropped when they arrive.
  ~Mailbox() {
    state_->closed.store(true, std::memory_order_relaxed);
    state_->channel.reset();
  }

  // Any thread. False: closed, full, or the owner's context is gone; the item is destroyed.
  bool push(T item) { return push(state_, std::move(item)); }
  Sender sender() const noexcept { return Sender(state_); }

  // The rest is the owner's; see Channel for what each completes with.
  auto recv() { return state_->channel->recv(); }
  auto recv_before(TimePoint deadline) { return state_->channel->recv_before(deadline); }
  auto wait_nonempty() { return state_->channel->wait_nonempty(); }
  std::optional<T> try_recv() { return state_->channel->try_recv(); }
  void watch_with(Pulse* pulse) noexcept { state_->channel->watch_with(pulse); }

  // No more pushes; what has arrived stays readable, what is still under way is dropped.
  void close() noexcept {
    state_->closed.store(true, std::memory_order_relaxed);
    state_->channel->close();
  }

  bool closed() const noexcept { return state_->closed.load(std::memory_order_relaxed); }
  bool empty() const noexcept { return state_->channel->empty(); }
  std::size_t size() const noexcept { return state_->channel->size(); }  // arrived and not taken
  const std::string& name() const noexcept { return state_->channel->name(); }

 private:
  struct State {
    State(Context& owner, std::string name, std::size_t limit_in)
        : context(&owner), remote(owner.remote()), limit(limit_in) {
      channel.emplace(owner, std::move(name), limit);
      channel->on_item_left_ = [](void* held_in) noexcept {
        static_cast<std::atomic<std::size_t>*>(held_in)->fetch_sub(1, std::memory_order_relaxed);
      };
      channel->on_item_left_argument_ = &held;
    }

    void arrive(T item) {
      if (!channel || channel->closed()) {
        held.fetch_sub(1, std::memory_order_relaxed);
        return;
      }
      const bool room = channel->try_send(item);
      BATON_CHECK(room, channel->name(), limit);  // held <= limit and counts all that is in the channel
    }

    Context* context;  // compared by other threads, used by the owner
    std::shared_ptr<RemoteQueue> remote;
    std::size_t limit;
    std::atomic<std::size_t> held{0};  // items arrived or under way
    std::atomic<bool> closed{false};
    std::optional<Channel<T>> channel;  // owner's thread; empty once the Mailbox is gone
  };

  struct Arrival final : Op {
    Arrival(std::shared_ptr<State> state_in, T&& item_in)
        : Op(&Arrival::finish), state(std::move(state_in)), item(std::move(item_in)) {}

    static void finish(Op* op, bool run) {
      const std::unique_ptr<Arrival> self(static_cast<Arrival*>(op));
      if (run) {
        self->state->arrive(std::move(self->item));
      } else {
        self->state->held.fetch_sub(1, std::memory_order_relaxed);
      }
    }

    std::shared_ptr<State> state;
    T item;
  };

  static bool push(const std::shared_ptr<State>& state, T item) {
    if (state->closed.load(std::memory_order_relaxed)) {
      return false;
    }
    if (state->held.fetch_add(1, std::memory_order_relaxed) >= state->limit) {
      state->held.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    if (Context::current() == state->context) {
      state->arrive(std::move(item));
      return true;
    }
    auto arrival = std::make_unique<Arrival>(state, std::move(item));
    const std::shared_ptr<RemoteQueue> remote = state->remote;
    if (!remote->push(arrival.get())) {
      return false;
    }
    arrival.release();
    return true;
  }

  std::shared_ptr<State> state_;
};

}  // namespace baton
