// What a Context runs: Op, one parked or posted piece of work; and OpPool, where the small ones live.
//
// Internal to the runtime. An Op is owned by whoever holds it last: the run queue, the timer heap, a wait list or the
// remote queue. invoke(op, true) runs and frees it, invoke(op, false) frees it without running.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace baton {

struct Op {
  using Invoke = void (*)(Op*, bool run);

  explicit Op(Invoke invoke_in) noexcept : invoke(invoke_in) {}
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  Op* next = nullptr;              // in the run queue or the remote queue
  Invoke invoke = nullptr;         //
  std::uint64_t errand_order = 0;  // not 0: a completion coming back from elsewhere, counted in order of departure
  bool is_waiter = false;          // a Waiter, that is, a suspended coroutine
};

// First in, first out; owns nothing.
class OpQueue final {
 public:
  bool empty() const noexcept { return head_ == nullptr; }

  void push(Op* op) noexcept {
    op->next = nullptr;
    if (head_ == nullptr) {
      head_ = op;
    } else {
      tail_->next = op;
    }
    tail_ = op;
  }

  Op* pop() noexcept {
    Op* op = head_;
    if (op != nullptr) {
      head_ = op->next;
    }
    return op;
  }

 private:
  Op* head_ = nullptr;
  Op* tail_ = nullptr;
};

// A function posted to a context. From any thread, hence on the heap.
template <class Function>
class FunctionOp final : public Op {
 public:
  explicit FunctionOp(Function&& function) : Op(&FunctionOp::finish), function_(std::move(function)) {}

 private:
  static void finish(Op* op, bool run) {
    auto* self = static_cast<FunctionOp*>(op);
    Function function(std::move(self->function_));
    delete self;
    if (run) {
      function();
    }
  }

  Function function_;
};

// Free lists by size for nodes of suspended coroutines, which come and go at every await. Owner's thread only. Under
// AddressSanitizer it keeps nothing back, so that a stale pointer is seen.
class OpPool final {
 public:
  OpPool() = default;
  OpPool(const OpPool&) = delete;
  OpPool& operator=(const OpPool&) = delete;
  ~OpPool();

  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 16;

  struct Free {
    Free* next;
  };
  std::array<Free*, kClasses> free_{};
};

}  // namespace baton
