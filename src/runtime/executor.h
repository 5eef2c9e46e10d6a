// Executor: the one Asio executor of baton. It names a Context and the coroutine that runs.
//
// Sockets, Beast streams and coroutines take it like any Asio executor; code above layer 0 only passes it on. A cheap
// value: copy it freely, but never use it after its Context is gone.
#pragma once

#include <utility>

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/version.hpp>

#include "runtime/op.h"

static_assert(BOOST_ASIO_VERSION >= 102600, "baton needs Boost 1.81 or later");

namespace baton {

class Context;
struct TaskInfo;

struct Executor {
  Context* context = nullptr;
  const TaskInfo* task = nullptr;  // whose coroutine; read only while that coroutine lives
  bool may_run_inline = true;      // Asio's blocking.possibly; false is blocking.never

  friend bool operator==(const Executor& a, const Executor& b) noexcept {
    return a.context == b.context && a.may_run_inline == b.may_run_inline;
  }
  friend bool operator!=(const Executor& a, const Executor& b) noexcept { return !(a == b); }

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept;

  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    if (may_run_inline) {
      return boost::asio::execution::blocking.possibly;
    }
    return boost::asio::execution::blocking.never;
  }

  Executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept { return {context, task, true}; }
  Executor require(boost::asio::execution::blocking_t::never_t) const noexcept { return {context, task, false}; }

  // Runs the function at once if that is allowed and this thread runs the context, else queues it there.
  template <class Function>
  void execute(Function function) const {
    if (runs_inline()) {
      function();
      return;
    }
    submit(new FunctionOp<Function>(std::move(function)));
  }

 private:
  bool runs_inline() const noexcept;
  void submit(Op* op) const;
};

}  // namespace baton
