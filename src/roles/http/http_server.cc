#include "roles/http/http_server.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include "roles/http/api.h"
#include "roles/http/body_worker.h"
#include "roles/http/http_connection.h"
#include "roles/http/http_metrics.h"
#include "roles/http/id_source.h"
#include "runtime/pulse.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"

namespace baton {
namespace {

using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Acceptor = asio::basic_socket_acceptor<Tcp, Executor>;

constexpr auto kTuple = asio::as_tuple(asio::deferred);
constexpr std::size_t kRefusalsMax = 64;  // connections above the bound that are told so at one time
constexpr Duration kAcceptPause = std::chrono::milliseconds(50);  // after a failed accept: no descriptors, mostly

Tcp::endpoint resolve(Context& context, const HttpConfig& config) {
  const std::string host = config.host.empty() ? std::string("0.0.0.0") : config.host;
  asio::ip::basic_resolver<Tcp, Executor> resolver(context.executor());
  error_code error;
  const auto found = resolver.resolve(host, std::to_string(config.port), Tcp::resolver::passive, error);
  if (error || found.empty()) {
    throw Error(Errc::invalid_argument, fmt::format("no address for host {}: {}", host, error.message()));
  }
  return found.begin()->endpoint();
}

Acceptor listen_on(Context& context, const HttpConfig& config) {
  const Tcp::endpoint endpoint = resolve(context, config);
  Acceptor acceptor(context.executor());
  error_code error;
  const auto attempt = [&](const char* what, auto&& step) {
    if (!error) {
      step();
      if (error) {
        throw Error(Errc::unavailable,
                    fmt::format("cannot {} {}:{}: {}", what, config.host, config.port, error.message()));
      }
    }
  };
  attempt("open a socket for", [&] { acceptor.open(endpoint.protocol(), error); });
  attempt("reuse", [&] { acceptor.set_option(Acceptor::reuse_address(true), error); });
  attempt("bind to", [&] { acceptor.bind(endpoint, error); });
  attempt("listen on", [&] { acceptor.listen(Acceptor::max_listen_connections, error); });
  return acceptor;
}

// How often deadlines are looked at: a quarter of the shortest, so that none is overstayed by more.
Duration sweep_period(const HttpConfig& config) {
  const Duration shortest = std::min({config.header_time_max, config.body_time_max, config.idle_time_max,
                                      config.write_time_max, config.linger_time_max});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace

struct HttpServer::State {
  State(Context& context_in, Generator& generator, ServedModel model_in, HttpConfig config_in,
        MetricsRegistry& registry)
      : context(context_in),
        model(std::move(model_in)),
        config(std::move(config_in)),
        metrics(registry, config.connections_max),
        ids(config.random_seed),
        body_worker(context, config.waiting_bodies_max),
        api({context, generator, model, config, registry, metrics, ids, body_worker}),
        acceptor(listen_on(context, config)),
        port(acceptor.local_endpoint().port()),
        idle(context, "http requests"),
        scope(context, "http"),
        host{context, api, config, metrics, ids, scope, 0, idle} {}

  Task<> accept();
  Task<> sweep();
  static Task<> serve(State& state, std::shared_ptr<HttpConnection> connection);
  static Task<> refuse(State& state, std::shared_ptr<HttpConnection> connection);
  void admit(HttpConnection::Socket socket);

  Context& context;
  ServedModel model;
  HttpConfig config;
  HttpMetrics metrics;
  IdSource ids;
  BodyWorker body_worker;  // after the model, which its jobs refer to
  Api api;
  Acceptor acceptor;
  std::uint16_t port;
  Pulse idle;
  Scope scope;
  ConnectionHost host;
  std::unordered_set<HttpConnection*> connections;
  std::size_t refusals = 0;
  bool closed = false;
};

namespace {

// Lists a connection for the sweep as long as it is served.
class Listed final {
 public:
  Listed(std::unordered_set<HttpConnection*>& list, HttpConnection& connection) : list_(list), connection_(connection) {
    list_.insert(&connection_);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { list_.erase(&connection_); }

 private:
  std::unordered_set<HttpConnection*>& list_;
  HttpConnection& connection_;
};

}  // namespace

Task<> HttpServer::State::serve(State& state, std::shared_ptr<HttpConnection> connection) {
  const Listed listed(state.connections, *connection);
  try {
    co_await HttpConnection::serve(connection);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) {
      throw;
    }
  } catch (const std::bad_alloc&) {
    // This connection ends; the others are not to suffer from it.
  }
}

Task<> HttpServer::State::refuse(State& state, std::shared_ptr<HttpConnection> connection) {
  const Listed listed(state.connections, *connection);
  ++state.refusals;
  co_await HttpConnection::refuse(connection);
  --state.refusals;
}

void HttpServer::State::admit(HttpConnection::Socket socket) {
  const std::size_t serving = connections.size() - refusals;
  if (serving < config.connections_max) {
    scope.spawn("connection", serve(*this, std::make_shared<HttpConnection>(host, std::move(socket))));
    return;
  }
  metrics.connection_refused();
  if (refusals < kRefusalsMax) {
    scope.spawn("refusal", refuse(*this, std::make_shared<HttpConnection>(host, std::move(socket))));
  }
}

Task<> HttpServer::State::accept() {
  while (!closed) {
    auto [error, socket] = co_await acceptor.async_accept(kTuple);
    if (closed) {
      break;
    }
    if (error) {
      co_await sleep_until(context, context.now() + kAcceptPause);
      continue;
    }
    admit(std::move(socket));
  }
}

Task<> HttpServer::State::sweep() {
  const Duration period = sweep_period(config);
  for (;;) {
    co_await sleep_until(context, context.now() + period);
    const TimePoint now = context.now();
    for (HttpConnection* connection : connections) {
      connection->check_deadline(now);
    }
  }
}

HttpServer::HttpServer(Context& context, Generator& generator, ServedModel model, HttpConfig config,
                       MetricsRegistry& metrics)
    : state_(std::make_unique<State>(context, generator, std::move(model), std::move(config), metrics)) {}

HttpServer::~HttpServer() = default;

Task<> HttpServer::run() {
  state_->scope.spawn("accept", state_->accept());
  state_->scope.spawn("sweep", state_->sweep());
  co_await state_->scope.join();
}

std::uint16_t HttpServer::port() const noexcept {
  return state_->port;
}

void HttpServer::stop_accepting() noexcept {
  state_->api.drain();
}

Task<bool> HttpServer::wait_until_idle(TimePoint deadline) {
  while (state_->host.answering > 0 && state_->context.now() < deadline) {
    co_await state_->idle.wait_until(deadline);
  }
  co_return state_->host.answering == 0;
}

void HttpServer::close() noexcept {
  if (std::exchange(state_->closed, true)) {
    return;
  }
  error_code ignored;
  state_->acceptor.close(ignored);
  for (HttpConnection* connection : state_->connections) {
    connection->close();
  }
  state_->scope.cancel();
}

std::size_t HttpServer::open_connections() const noexcept {
  return state_->connections.size();
}

}  // namespace baton
