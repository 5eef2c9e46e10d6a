// A job that keeps a BodyWorker's thread busy until the test lets it go.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>

#include "roles/http/body_worker.h"
#include "runtime/task.h"

namespace baton::test {

inline StopFlag never_stopped() {
  return std::make_shared<std::atomic<bool>>(false);
}

class Gate final {
 public:
  explicit Gate(BodyWorker& worker) : worker_(worker) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Holds the worker from the moment its thread takes the job until open() was called.
  Task<> hold() {
    std::function<bool()> wait = [this] {
      opened_.wait();
      return true;
    };
    const std::optional<bool> passed = co_await worker_.run(std::move(wait), never_stopped());
    passed_ = passed.has_value();
  }
  void open() { opened_.count_down(); }
  bool passed() const noexcept { return passed_; }

 private:
  BodyWorker& worker_;
  std::latch opened_{1};
  bool passed_ = false;
};

}  // namespace baton::test
