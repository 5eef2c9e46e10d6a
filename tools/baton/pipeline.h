// A model and its ranks in this process, built from settings: what `serve` puts HTTP in front of and `generate` asks.
//
//   PipelineSettings --> ModelSource --> Weights, Tokenizer --> one CpuEngine per rank --> LocalNode (router, ranks)
//
// Owned by a command on the front's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compute_pool.h"
#include "model/engine/weights.h"
#include "model/text/chat_template.h"
#include "model/text/tokenizer.h"
#include "roles/local_node.h"
#include "runtime/metrics.h"
#include "runtime/real_context.h"
#include "sim/calibrate/step_log.h"
#include "tools/baton/settings.h"

namespace baton {

class Pipeline final {
 public:
  // Reads the model, with its progress on stderr, and builds the ranks. The front and the metrics outlive it. Throws
  // Error: not_found or bad_file for the model, invalid_argument or too_large for settings that do not fit it.
  Pipeline(const PipelineSettings& settings, RealContext& front, MetricsRegistry& metrics);

  LocalNode& node() noexcept { return *node_; }
  Router& router() noexcept { return node_->router(); }
  const Tokenizer& tokenizer() const noexcept { return *tokenizer_; }
  const std::optional<ChatTemplate>& chat_template() const noexcept { return chat_template_; }

  const std::string& model_name() const noexcept { return model_name_; }  // the file's name without its ending
  std::uint64_t seed() const noexcept { return seed_; }                   // the one given, or the one drawn
  std::string summary() const;  // "1 prefill and 1 decode rank on 2 threads, 46592 KV tokens each"

 private:
  void make_pools(const PipelineSettings& settings);
  kernels::ComputePool& pool_of(RankId rank, const PipelineSettings& settings);
  NodeConfig node_config(const PipelineSettings& settings, const KvLayout& layout) const;

  std::string model_name_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<kernels::ComputePool>> pools_;  // one for all ranks, or one for each
  std::shared_ptr<const Weights> weights_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_template_;
  std::unique_ptr<sim::StepLogWriter> step_log_;  // null: nobody asked for one
  std::unique_ptr<LocalNode> node_;
};

}  // namespace baton
