// suspend(): how every wait of baton is built. It makes an awaitable operation out of a Waiter and a rule to begin it.
//
// Internal to the runtime. The operation allocates its node from the context's pool when it is awaited, calls
// `begin(node)`, which either ends the wait at once or parks the node, and completes through the run queue: a
// coroutine is never resumed inside send(), notify(), close() or cancel().
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "runtime/check.h"
#include "runtime/task.h"
#include "runtime/waiter.h"

namespace baton::detail {

// Base is a Waiter with the result: `result()` says what the await returns once `end` is known.
template <class Base, class Handler>
class Suspended final : public Base {
 public:
  template <class... Args>
  static Suspended& create(Context& context, Handler&& handler, Args&&... args) {
    static_assert(alignof(Suspended) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "over-aligned items are not supported");
    void* memory = context.pool().allocate(sizeof(Suspended));
    auto* node = new (memory) Suspended(context, std::move(handler), std::forward<Args>(args)...);
    const auto executor = asio::get_associated_executor(node->handler_, context.executor());
    if constexpr (std::is_same_v<std::decay_t<decltype(executor)>, Executor>) {
      node->task = executor.task;
    }
    return *node;
  }

  auto slot() const noexcept { return asio::get_associated_cancellation_slot(handler_); }

 private:
  template <class... Args>
  Suspended(Context& context, Handler&& handler, Args&&... args)
      : Base(&Suspended::finish, std::forward<Args>(args)...), context_(context), handler_(std::move(handler)) {}

  static void finish(Op* op, bool run) {
    auto* self = static_cast<Suspended*>(op);
    Context& context = self->context_;
    if (!run) {
      if (auto slot = self->slot(); slot.is_connected()) {
        slot.clear();  // else a later cancel would look for this node
      }
      Handler handler(std::move(self->handler_));
      destroy(self, context);
      return;
    }
    Handler handler(std::move(self->handler_));
    auto result = self->result();
    destroy(self, context);
    std::move(handler)(std::move(result));
  }

  static void destroy(Suspended* self, Context& context) noexcept {
    self->~Suspended();
    context.pool().release(self, sizeof(Suspended));
  }

  Context& context_;
  Handler handler_;
};

enum class Cancel : bool { allowed, ignored };

// Signature is void(R) where R is what Base::result() returns.
template <class Signature, class Base, Cancel kCancel = Cancel::allowed, class Begin, class... Args>
auto suspend(Context& context, Begin begin, Args&&... args) {
  return asio::async_initiate<const asio::deferred_t, Signature>(
      [&context, begin = std::move(begin)](auto handler, auto&&... items) mutable {
        context.check_owner();
        using Parked = Suspended<Base, std::decay_t<decltype(handler)>>;
        Parked& node = Parked::create(context, std::move(handler), std::forward<decltype(items)>(items)...);
        begin(static_cast<Base&>(node));
        if constexpr (kCancel == Cancel::allowed) {
          auto slot = node.slot();
          if (node.end == WaitEnd::pending && slot.is_connected()) {
            slot.assign([&context, waiter = static_cast<Waiter*>(&node)](asio::cancellation_type) {
              if (waiter->end == WaitEnd::pending) {
                context.end_wait(*waiter, WaitEnd::cancelled);
              }
            });
          }
        }
      },
      asio::deferred, std::forward<Args>(args)...);
}

}  // namespace baton::detail
