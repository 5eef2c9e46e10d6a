#include "runtime/on.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"
#include "runtime/real_context.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "tests/support/run.h"

namespace baton {
namespace {

// Two threads that do what they are given: a compute pool in small.
class Workers final {
 public:
  Workers() {
    for (std::thread& thread : threads_) {
      thread = std::thread([this] { work(); });
    }
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  template <class Function>
  void submit(Function function) {
    auto shared = std::make_shared<Function>(std::move(function));
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back([shared] { (*shared)(); });
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ended_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        return;
      }
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ended_ = false;
  std::array<std::thread, 2> threads_;
};

// Writes into the coroutine's frame from another thread, which is safe only because the wait cannot be cut short.
Task<int> square_elsewhere(Context& context, Workers& workers, int number) {
  int answer = 0;
  auto start = [&](Completion<bool> completion) {
    workers.submit([&answer, number, done = std::move(completion)]() mutable {
      answer = number * number;
      done(true);
    });
  };
  const bool ok = co_await complete_elsewhere<bool>(context, start);
  CHECK(ok);
  CHECK(context.running_here());
  co_return answer;
}

Task<> sum_squares(Context& context, Workers& workers, int count, std::atomic<int>& sum) {
  for (int i = 1; i <= count; ++i) {
    const int square = co_await square_elsewhere(context, workers, i);
    sum += square;
  }
}

}  // namespace

TEST_CASE("complete_elsewhere: results come home to each coroutine's own context") {
  Workers workers;
  std::atomic<int> sum{0};
  RealContext left;
  RealContext right;
  std::thread other([&] { test::run(right, sum_squares(right, workers, 200, sum)); });
  test::run(left, sum_squares(left, workers, 200, sum));
  other.join();
  CHECK(sum == 2 * 200 * 201 * 401 / 6);
}

TEST_CASE("complete_elsewhere: cancelled at random, the frame waits for the other thread") {
  Workers workers;
  std::atomic<int> sum{0};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RealContext context;
    Random random(seed);
    auto play = [&]() -> Task<> {
      Scope scope(context, "work");
      std::vector<TaskHandle> tasks;
      for (int i = 0; i < 8; ++i) {
        tasks.push_back(scope.spawn("sum", sum_squares(context, workers, 50, sum)));
      }
      auto cancel_some = [&]() -> Task<> {
        for (int i = 0; i < 20; ++i) {
          co_await yield(context);
          tasks[random.uniform(tasks.size())].cancel();
        }
      };
      scope.spawn("cancel", cancel_some());
      co_await scope.join();
    };
    test::run(context, play());
  }
  CHECK(sum > 0);
}

TEST_CASE("complete_elsewhere: completing inside start resumes in the next turn, not inside") {
  SimContext context;
  bool inside = false;
  bool resumed_inside = true;
  auto work = [&]() -> Task<std::string> {
    auto start = [&](Completion<std::string> completion) {
      inside = true;
      completion("at once");
      inside = false;
    };
    std::string text = co_await complete_elsewhere<std::string>(context, start);
    resumed_inside = inside;
    co_return text;
  };
  CHECK(test::run(context, work()) == "at once");
  CHECK_FALSE(resumed_inside);
}

TEST_CASE("complete_elsewhere: void, and an exception that is handed over rather than thrown") {
  SimContext context;
  auto work = [&]() -> Task<std::string> {
    auto nothing = [](Completion<void> completion) { completion(); };
    co_await complete_elsewhere<void>(context, nothing);
    auto failure = [](Completion<std::exception_ptr> completion) {
      completion(std::make_exception_ptr(std::runtime_error("told")));
    };
    std::exception_ptr error = co_await complete_elsewhere<std::exception_ptr>(context, failure);
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& told) {
      co_return told.what();
    }
  };
  CHECK(test::run(context, work()) == "told");
}

TEST_CASE("complete_elsewhere: in virtual time the clock waits and answers come in the order of the questions") {
  for (int round = 0; round < 20; ++round) {
    Workers workers;
    SimContext context;
    std::vector<int> order;
    auto ask = [&](int number) -> Task<> {
      const int square = co_await square_elsewhere(context, workers, number);
      CHECK(square == number * number);
      order.push_back(number);
    };
    auto play = [&]() -> Task<> {
      Scope scope(context, "ask");
      for (int i = 0; i < 10; ++i) {
        scope.spawn("one", ask(i));
      }
      co_await scope.join();
      CHECK(context.now() == TimePoint{});
      co_await pause(context, std::chrono::seconds(1));
    };
    test::run(context, play());
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
}

}  // namespace baton
