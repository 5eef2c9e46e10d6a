// BodyWorker: a thread for what takes long in big request bodies, so that no stream waits for it.
//
//   front's coroutine --job--> waiting (bounded) --> the thread --result--> the coroutine, on the front again
//
// Jobs run one at a time in the order they were given. All calls come from the context's thread; the destructor joins
// the worker's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/on.h"

namespace baton {

// Set by whoever does not want the result any more: a job that has not begun by then never does.
using StopFlag = std::shared_ptr<std::atomic<bool>>;

class BodyWorker final {
 public:
  // The context outlives the worker. At most `waiting_max` jobs wait beside the one that runs. Throws
  // std::system_error where there are no threads to be had.
  BodyWorker(Context& context, std::size_t waiting_max);
  // Gives up the jobs that wait and waits for the one that runs.
  ~BodyWorker();
  BodyWorker(const BodyWorker&) = delete;
  BodyWorker& operator=(const BodyWorker&) = delete;

  // Whether a further job would be one too many.
  bool full() const;

  // Completes with what the work returned, or with nothing if it was stopped before it began. Throws what the work
  // threw. Demands that the worker is not full. The work owns, or outlives the worker with, what it refers to: the
  // wait cannot be cancelled, but the waiting coroutine may be destroyed while the work runs.
  template <class T>
  Task<std::optional<T>> run(std::function<T()> work, StopFlag stop) {
    const auto job = std::make_shared<TypedJob<T>>(std::move(work), std::move(stop));
    const auto start = [this, job](Completion<std::exception_ptr> done) {
      job->done = std::move(done);
      push(job);
    };
    const std::exception_ptr fault = co_await complete_elsewhere<std::exception_ptr>(context_, start);
    if (fault) {
      std::rethrow_exception(fault);
    }
    co_return std::move(job->result);
  }

 private:
  struct Job {
    explicit Job(StopFlag stop_in) : stop(std::move(stop_in)) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;
    virtual void work() = 0;

    StopFlag stop;
    Completion<std::exception_ptr> done;
  };

  template <class T>
  struct TypedJob final : Job {
    TypedJob(std::function<T()> function_in, StopFlag stop_in)
        : Job(std::move(stop_in)), function(std::move(function_in)) {}
    void work() override {
      result.emplace(function());
      function = nullptr;  // what it holds is big, too, and better freed here than on the front
    }

    std::function<T()> function;
    std::optional<T> result;
  };

  void push(std::shared_ptr<Job> job);
  std::shared_ptr<Job> next();
  void loop();
  static void finish(Job& job) noexcept;

  Context& context_;
  const std::size_t waiting_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;  // guarded by mutex_
  bool running_ = false;                      // guarded by mutex_: a job is being worked on
  bool ending_ = false;                       // guarded by mutex_
  std::thread thread_;                        // last: it uses all of the above
};

}  // namespace baton
