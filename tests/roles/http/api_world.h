// The endpoints without sockets: an exchange that records what is said, and an Api in virtual time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "roles/http/api.h"
#include "roles/http/body_worker.h"
#include "roles/http/http_metrics.h"
#include "runtime/metrics.h"
#include "sim/sim_context.h"
#include "tests/model/text/byte_vocabulary.h"
#include "tests/roles/http/fake_generator.h"
#include "tests/support/run.h"

namespace baton::test {

class FakeExchange final : public Exchange {
 public:
  FakeExchange(std::string method, std::string path, std::string body = {}) {
    request_.method = std::move(method);
    request_.path = std::move(path);
    request_.body = std::move(body);
    request_.request_id = "req-1";
  }
  const HttpRequest& request() const noexcept override { return request_; }
  std::string take_body() noexcept override { return std::exchange(request_.body, {}); }
  void respond(HttpResponse response_in) override { response = std::move(response_in); }
  bool answered() const noexcept override { return response || begun; }
  void begin_events() override { begun = true; }
  void event(std::string_view data) override { events.emplace_back(data); }
  void end_events(bool close) override {
    ended = true;
    closes = close;
  }
  void on_client_gone(std::function<void()> callback) override {
    on_gone = std::move(callback);
    if (gone && on_gone) {
      on_gone();
    }
  }
  bool client_gone() const noexcept override { return gone; }

  std::optional<HttpResponse> response;
  std::vector<std::string> events;
  std::function<void()> on_gone;
  bool begun = false;
  bool ended = false;
  bool closes = false;
  bool gone = false;

 private:
  HttpRequest request_;
};

struct ApiWorld {
  FakeExchange call(const std::string& method, const std::string& path, const std::string& body = {}) {
    FakeExchange exchange(method, path, body);
    test::run(context, api.handle(exchange));
    CHECK(generator.counts.live == 0);
    CHECK_FALSE(exchange.on_gone);
    return exchange;
  }
  FakeExchange post(const std::string& path, const std::string& body) { return call("POST", path, body); }

  SimContext context;
  FakeGenerator generator{context};
  Tokenizer tokenizer{byte_vocabulary()};
  ServedModel model{"org/toy", tokenizer, ChatTemplate(ChatFamily::chatml), 1700000000, 0};
  HttpConfig config;
  MetricsRegistry registry;
  HttpMetrics metrics{registry, 10};
  IdSource ids{1};
  BodyWorker body_worker{context, config.waiting_bodies_max};
  Api api{{context, generator, model, config, registry, metrics, ids, body_worker}};
};

}  // namespace baton::test
