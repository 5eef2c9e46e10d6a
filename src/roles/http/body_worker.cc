#include "roles/http/body_worker.h"

#include "runtime/check.h"
#include "runtime/context.h"

namespace baton {

BodyWorker::BodyWorker(Context& context, std::size_t waiting_max)
    : context_(context), waiting_max_(waiting_max), thread_([this] { loop(); }) {}

BodyWorker::~BodyWorker() {
  std::deque<std::shared_ptr<Job>> given_up;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    given_up.swap(waiting_);
  }
  changed_.notify_one();
  for (const std::shared_ptr<Job>& job : given_up) {
    job->stop->store(true, std::memory_order_relaxed);
    finish(*job);
  }
  thread_.join();
}

bool BodyWorker::full() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + (running_ ? 1 : 0) > waiting_max_;
}

void BodyWorker::push(std::shared_ptr<Job> job) {
  context_.check_owner();
  {
    const std::lock_guard lock(mutex_);
    BATON_CHECK(waiting_.size() + (running_ ? 1 : 0) <= waiting_max_, waiting_.size(), waiting_max_);
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
}

// Null when the worker ends.
std::shared_ptr<BodyWorker::Job> BodyWorker::next() {
  std::unique_lock lock(mutex_);
  running_ = false;
  changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
  if (ending_) {
    return nullptr;
  }
  std::shared_ptr<Job> job = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = true;
  return job;
}

void BodyWorker::loop() {
  while (const std::shared_ptr<Job> job = next()) {
    finish(*job);
  }
}

// On the worker's thread, or when the worker ends. The completion hands the job's result over: the last thing done.
void BodyWorker::finish(Job& job) noexcept {
  std::exception_ptr fault;
  if (!job.stop->load(std::memory_order_relaxed)) {
    try {
      job.work();
    } catch (...) {
      fault = std::current_exception();
    }
  }
  Completion<std::exception_ptr> done = std::move(job.done);
  done(std::move(fault));
}

}  // namespace baton
