// The engine on CPU cores: steps of a rank run as jobs on the compute pool that all ranks of the process share.
//
//   rank's context:  step(batch) --submit--> ComputePool: forward, head, sampling --complete--> rank's context
//
// One engine may serve one rank or several; it holds no request state. A row's result (keys, values, logits, token) is
// the same to the bit whatever else is in the step, however a prompt is cut, whatever page size and thread count.
//
// Owner: the node; weights are shared. Threads: step() on any context, at once from several; the rest is immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/compute_pool.h"
#include "model/engine/engine.h"
#include "model/engine/weights.h"
#include "runtime/on.h"

namespace baton {

struct CpuEngineOptions {
  std::uint32_t page_tokens = 16;
  KvType kv_type = KvType::f16;
  std::uint32_t rows_max = 2048;  // tokens in one step; bounds the memory for activations (activation_bytes())
};

class CpuEngine final : public Engine {
 public:
  // `pool` must outlive the engine. The context length is that of the weights' RoPE tables.
  CpuEngine(kernels::ComputePool& pool, std::shared_ptr<const Weights> weights, const CpuEngineOptions& options);

  // As Engine::step. Throws Error(invalid_argument) before computing anything when a token is outside the vocabulary,
  // positions pass context_length(), or the batch has more than rows_max tokens; a page table that does not cover the
  // rows is a bug (BATON_CHECK). An empty batch completes at once. A sequence whose logits allow no token (all NaN, or
  // everything banned) has no entry in `sampled` although one was asked for: the request has failed, the others have
  // not. The context must not be destroyed while a step is out.
  Task<StepOutput> step(StepBatch batch) override;

  const KvLayout& kv_layout() const noexcept override { return layout_; }
  std::uint32_t vocab_size() const noexcept override { return weights_->shape().vocab; }
  std::uint32_t context_length() const noexcept override { return weights_->context_length(); }

  const Weights& weights() const noexcept { return *weights_; }
  std::uint64_t model_hash() const noexcept { return weights_->model_hash(); }
  std::size_t activation_bytes() const noexcept;  // scratch of a step of rows_max rows, at most one per pool thread

 private:
  struct Job;
  void check(const StepBatch& batch) const;
  void submit(const std::shared_ptr<Job>& job, Completion<std::exception_ptr> completion);
  void compute(kernels::Lane& lane, Job& job);  // on a pool thread
  void sample_rows(kernels::Lane& lane, Job& job, std::size_t first, std::size_t count, const float* logits);
  std::unique_ptr<Sampler> borrow_sampler();
  void return_sampler(std::unique_ptr<Sampler> sampler);

  kernels::ComputePool& pool_;
  std::shared_ptr<const Weights> weights_;
  CpuEngineOptions options_;
  KvLayout layout_;

  std::mutex samplers_mutex_;
  std::vector<std::unique_ptr<Sampler>> samplers_;  // idle ones; as many as were ever in use at once
};

}  // namespace baton
