// Task<T>: a coroutine of baton. The one header through which code gets Asio's coroutine vocabulary.
//
// A Task runs when it is awaited, or when a Scope spawns it. Await rules (g++ 12 miscompiles the rest): one co_await
// per full expression, `auto x = co_await f(a);`; no aggregate temporaries, braces, capturing lambdas or ?: beside it;
// coroutines are named functions whose parameters are values or refer to something that outlives them.
//
// Cancellation is cooperative and sticky: a wait that is cancelled ends early with a value that says so (false,
// nullopt, Errc::aborted), and the next co_await of the coroutine throws system_error(operation_aborted).
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include "runtime/context.h"
#include "runtime/errors.h"
#include "runtime/time.h"

namespace baton {

namespace asio = boost::asio;

template <class T = void>
using Task = asio::awaitable<T, Executor>;

}  // namespace baton
