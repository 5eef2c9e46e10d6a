// Runs the samples of one client request side by side and hands their events to a listener.
//
//   start() --> Generator, once per sample;  run(): one loop per sample --> SampleListener
//
// Owned by the endpoint's coroutine; on the front's context. The first failure of any sample ends all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "roles/generation.h"
#include "runtime/task.h"
#include "runtime/time.h"

namespace baton {

class Context;
class HttpMetrics;

// Told what the samples say, in each sample's order. Not told anything after the first failure.
class SampleListener {
 public:
  virtual ~SampleListener() = default;
  virtual void on_token(std::uint32_t index, TokenEvent event) = 0;
  virtual void on_finish(std::uint32_t index, FinishEvent event) = 0;  // stop or length
};

class SampleRun final {
 public:
  // All references outlive the run. Times to first tokens count from `arrived`.
  SampleRun(Context& context, HttpMetrics& metrics, SampleListener& listener, TimePoint arrived);
  SampleRun(const SampleRun&) = delete;
  SampleRun& operator=(const SampleRun&) = delete;

  // Starts one generation per request at once; sample i is requests[i].
  void start(Generator& generator, std::vector<GenerationRequest> requests);

  // Completes when every sample has finished or the first failure has ended them all. When cancelled, the generations
  // die with this object.
  Task<> run();

  // Ends all samples; run() then completes with the failure "aborted".
  void abort() noexcept;

  // Why the run as a whole failed, once run() has completed.
  const std::optional<Failure>& failure() const noexcept { return failure_; }

 private:
  Task<> follow(std::uint32_t index);
  void fail(Failure failure) noexcept;

  Context& context_;
  HttpMetrics& metrics_;
  SampleListener& listener_;
  TimePoint arrived_;
  std::vector<std::unique_ptr<Generation>> generations_;
  std::optional<Failure> failure_;
};

}  // namespace baton
