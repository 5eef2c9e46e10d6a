#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>

#include "roles/http/http_server.h"
#include "roles/request_log_generator.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/task.h"
#include "tools/baton/commands.h"
#include "tools/baton/pipeline.h"
#include "tools/baton/trace_file.h"
#include "tools/baton/values.h"

namespace baton {
namespace {

HttpConfig http_config(const ServerSettings& settings, std::uint64_t seed) {
  HttpConfig config;
  config.host = settings.host;
  config.port = settings.port;
  config.random_seed = Random(seed).fork(3).next();
  return config;
}

// The server from its start to its end, on the front's thread.
class Service final {
 public:
  Service(const PipelineSettings& pipeline, const ServerSettings& server)
      : settings_(server),
        trace_(pipeline.trace),
        pipeline_(pipeline, front_, metrics_),
        name_(server.served_name.empty() ? pipeline_.model_name() : server.served_name),
        http_(front_, generator(), served_model(), http_config(server, pipeline_.seed()), metrics_),
        signals_(front_.executor(), SIGINT, SIGTERM),
        scope_(front_, "front") {}

  int run();

 private:
  Generator& generator();
  ServedModel served_model();
  void announce() const;
  void close_log();

  Task<> watch_signals();
  Task<> drain();
  void end() noexcept;
  void rank_failed(std::exception_ptr fault);

  const ServerSettings& settings_;
  const std::string& trace_;         // a file's path, or empty
  std::unique_ptr<RequestLog> log_;  // before the context: generations that are left write to it
  RealContext front_;
  MetricsRegistry metrics_;
  Pipeline pipeline_;
  std::unique_ptr<LoggedGenerator> logged_;
  std::string name_;
  HttpServer http_;
  asio::basic_signal_set<Executor> signals_;
  Scope scope_;
  TaskHandle drain_;
  int exit_code_ = kExitOk;
};

Generator& Service::generator() {
  if (settings_.request_log.empty()) {
    return pipeline_.router();
  }
  log_ = std::make_unique<RequestLog>(settings_.request_log);
  logged_ = std::make_unique<LoggedGenerator>(front_, pipeline_.router(), *log_);
  return *logged_;
}

ServedModel Service::served_model() {
  return {name_, pipeline_.tokenizer(), pipeline_.chat_template(), static_cast<std::int64_t>(std::time(nullptr)),
          pipeline_.router().max_context()};
}

void Service::announce() const {
  const std::string host = settings_.host.find(':') == std::string::npos ? settings_.host : "[" + settings_.host + "]";
  fmt::print("Serving {} at http://{}:{}/v1 with {}\n", name_, host, http_.port(), pipeline_.summary());
  std::fflush(stdout);
}

int Service::run() {
  pipeline_.node().start([this](std::exception_ptr fault) { rank_failed(std::move(fault)); });
  {
    const Context::Inside inside(front_);
    scope_.spawn("router", pipeline_.node().node().run_front());
    scope_.spawn("http", http_.run());
    scope_.spawn("signals", watch_signals());
  }
  announce();
  front_.stop();  // run() still works until all of these have ended
  front_.run();
  if (exit_code_ == kExitFailed) {
    log_.reset();
    std::fflush(nullptr);
    std::_Exit(kExitFailed);  // the other ranks may wait for the one that failed
  }
  pipeline_.node().stop();
  pipeline_.node().join();
  if (!trace_.empty()) {
    write_trace(trace_, pipeline_.node().node().trace());
  }
  close_log();
  scope_.rethrow_error();
  return exit_code_;
}

void Service::close_log() {
  if (log_) {
    log_->close();
    fmt::print(stderr, "Request log: {} requests in {}\n", log_->records(), log_->path());
  }
}

// The first signal lets running requests finish, the second ends them.
Task<> Service::watch_signals() {
  constexpr auto kTuple = asio::as_tuple(asio::deferred);
  const auto [first_error, first] = co_await signals_.async_wait(kTuple);
  if (first_error) {
    co_return;
  }
  fmt::print(stderr, "Draining: new requests are refused, running ones have {} to finish. Once more ends them.\n",
             duration_text(settings_.drain));
  http_.stop_accepting();
  drain_ = scope_.spawn("drain", drain());
  const auto [second_error, second] = co_await signals_.async_wait(kTuple);
  if (second_error) {
    co_return;
  }
  fmt::print(stderr, "Ending at once.\n");
  exit_code_ = 128 + second;  // as a shell reports a program that a signal ended
  end();
}

Task<> Service::drain() {
  const TimePoint deadline = add_saturating(front_.now(), settings_.drain);
  const bool idle = co_await http_.wait_until_idle(deadline);
  if (!idle) {
    fmt::print(stderr, "Ending {} requests that did not finish in time.\n", pipeline_.router().open_requests());
  }
  co_await pipeline_.router().drain(front_.now());
  // What was just ended still gets its answer, unless the client does not read it.
  const TimePoint answers = add_saturating(front_.now(), std::chrono::seconds(1));
  co_await http_.wait_until_idle(answers);
  end();
}

void Service::end() noexcept {
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  drain_.cancel();
  http_.close();
  pipeline_.router().stop();
  pipeline_.node().stop();
}

// On a rank's thread. Requests on that rank would hang until their deadlines, so all of it ends.
void Service::rank_failed(std::exception_ptr fault) {
  std::string reason = "unknown";
  try {
    std::rethrow_exception(std::move(fault));
  } catch (const std::exception& error) {
    reason = error.what();
  }
  fmt::print(stderr, "baton serve: a rank failed: {}\n", reason);
  front_.post([this] {
    exit_code_ = kExitFailed;
    end();
  });
}

}  // namespace

ServeCommand::ServeCommand() {
  add_settings(table_, server_);
  add_settings(table_, pipeline_);
}

Command ServeCommand::command() {
  Command command;
  command.name = "serve";
  command.summary = "Serves a model over an OpenAI-compatible HTTP interface";
  command.examples =
      "Examples:\n"
      "  baton serve                                  the default model, one prefill and one decode rank\n"
      "  baton serve --model qwen.gguf --prefill 2 --decode 3 --port 8001\n"
      "  baton serve --trace trace.json               Ctrl-C writes it, for ui.perfetto.dev\n"
      "  baton serve --request-log requests.csv       a line for every request\n"
      "  baton serve --print-settings > baton.toml    a file to edit, then: baton serve --config baton.toml\n"
      "  curl localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}], \"max_tokens\": 32}'";
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

int ServeCommand::run() {
  check(table_, pipeline_);
  check(table_, server_);
  Service service(pipeline_, server_);
  return service.run();
}

}  // namespace baton
