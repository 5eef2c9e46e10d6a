#include "model/engine/cpu_engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "model/engine/forward.h"
#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton {
namespace {

KvLayout layout_for(const ModelShape& shape, const CpuEngineOptions& options) {
  KvLayout layout;
  layout.layers = shape.layers;
  layout.kv_heads = shape.kv_heads;
  layout.head_dim = shape.head_dim;
  layout.page_tokens = options.page_tokens;
  layout.type = options.kv_type;
  return layout;
}

}  // namespace

// One step on its way through the pool. The pool's job shares it with the frame of step().
struct CpuEngine::Job {
  StepBatch batch;
  std::vector<ForwardSequence> sequences;
  std::vector<std::size_t> wanted;  // indices of the sequences that are sampled, ascending
  StepOutput output;
};

CpuEngine::CpuEngine(kernels::ComputePool& pool, std::shared_ptr<const Weights> weights,
                     const CpuEngineOptions& options)
    : pool_(pool), weights_(std::move(weights)), options_(options), layout_(layout_for(weights_->shape(), options)) {
  BATON_CHECK(options.page_tokens > 0);
  BATON_CHECK(options.rows_max > 0);
  BATON_CHECK(pool.isa() == weights_->isa(), static_cast<int>(pool.isa()), static_cast<int>(weights_->isa()));
}

std::size_t CpuEngine::activation_bytes() const noexcept {
  return forward_scratch_bytes(weights_->shape(), options_.rows_max, options_.rows_max);
}

Task<StepOutput> CpuEngine::step(StepBatch batch) {
  check(batch);
  const auto job = std::make_shared<Job>();
  job->batch = std::move(batch);
  job->output.sampled.resize(job->batch.sequences.size());
  if (job->batch.sequences.empty()) {
    co_return std::move(job->output);
  }
  const Executor executor = co_await asio::this_coro::executor;
  const auto start = [this, job](Completion<std::exception_ptr> completion) { submit(job, std::move(completion)); };
  std::exception_ptr error = co_await complete_elsewhere<std::exception_ptr>(*executor.context, start);
  if (error) {
    std::rethrow_exception(error);
  }
  co_return std::move(job->output);
}

void CpuEngine::submit(const std::shared_ptr<Job>& job, Completion<std::exception_ptr> completion) {
  const auto priority = job->batch.urgent ? kernels::Priority::decode : kernels::Priority::prefill;
  const auto shared = std::make_shared<Completion<std::exception_ptr>>(std::move(completion));
  pool_.submit(
      priority, [this, job](kernels::Lane& lane) { compute(lane, *job); },
      [shared](std::exception_ptr error) { (*shared)(std::move(error)); });
}

void CpuEngine::check(const StepBatch& batch) const {
  std::uint64_t rows = 0;
  for (const StepSequence& sequence : batch.sequences) {
    const std::uint64_t end = sequence.position + std::uint64_t{sequence.tokens.size()};
    BATON_CHECK(!sequence.tokens.empty());
    BATON_CHECK(sequence.arena != nullptr);
    BATON_CHECK(sequence.pages.size() >= layout_.pages_for(end), sequence.pages.size(), end, layout_.page_tokens);
    if (end > context_length()) {
      throw Error(Errc::invalid_argument,
                  fmt::format("{} tokens are more than the model's context of {}", end, context_length()));
    }
    for (const TokenId token : sequence.tokens) {
      if (token < 0 || static_cast<std::uint32_t>(token) >= vocab_size()) {
        throw Error(Errc::invalid_argument,
                    fmt::format("token {} is not in the vocabulary of {} tokens", token, vocab_size()));
      }
    }
    rows += sequence.tokens.size();
  }
  if (rows > options_.rows_max) {
    throw Error(Errc::invalid_argument,
                fmt::format("a step of {} tokens is more than the engine's {}", rows, options_.rows_max));
  }
}

void CpuEngine::compute(kernels::Lane& lane, Job& job) {
  const std::vector<StepSequence>& sequences = job.batch.sequences;
  job.sequences.reserve(sequences.size());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const StepSequence& sequence = sequences[i];
    const bool sampled = sequence.sampling != nullptr;
    job.sequences.push_back({sequence.tokens, sequence.position, sequence.arena, sequence.pages.data(), sampled});
    if (sampled) {
      job.wanted.push_back(i);
    }
  }
  const LogitsSink sink = [&](std::size_t first, std::size_t count, const float* logits) {
    sample_rows(lane, job, first, count, logits);
  };
  forward(lane, *weights_, layout_, job.sequences, sink);
}

void CpuEngine::sample_rows(kernels::Lane& lane, Job& job, std::size_t first, std::size_t count, const float* logits) {
  const auto chunks = static_cast<unsigned>(std::min<std::size_t>(count, lane.threads()));
  lane.parallel_for(chunks, [&](unsigned chunk) {
    std::unique_ptr<Sampler> sampler = borrow_sampler();
    for (std::size_t row = chunk; row < count; row += chunks) {
      const std::size_t index = job.wanted[first + row];
      const StepSequence& sequence = job.batch.sequences[index];
      const std::span<const float> values(logits + row * vocab_size(), vocab_size());
      Result<SampledToken> result = sampler->sample(values, *sequence.sampling, sequence.history,
                                                    sequence.position + sequence.tokens.size(), sequence.banned);
      if (result.has_value()) {
        job.output.sampled[index] = std::move(result.value());
      }
    }
    return_sampler(std::move(sampler));
  });
}

std::unique_ptr<Sampler> CpuEngine::borrow_sampler() {
  const std::lock_guard lock(samplers_mutex_);
  if (samplers_.empty()) {
    return std::make_unique<Sampler>();
  }
  std::unique_ptr<Sampler> sampler = std::move(samplers_.back());
  samplers_.pop_back();
  return sampler;
}

void CpuEngine::return_sampler(std::unique_ptr<Sampler> sampler) {
  const std::lock_guard lock(samplers_mutex_);
  samplers_.push_back(std::move(sampler));
}

}  // namespace baton
