#include "sim/cost/roofline.h"

#include <algorithm>
#include <cmath>

namespace baton::sim {
namespace {

// Activations travel between GPUs in two bytes, but for the dispatch to experts.
constexpr double kWireBytes = 2;
// One scale of four bytes for every 128 elements of a dispatched row in FP8 (DeepEP).
constexpr double kDispatchBytes = 1 + 4.0 / 128;
// Point-to-point start between pipeline stages, as AIConfigurator reckons.
constexpr double kHopLatency = 10e-6;

std::size_t index_of(Dtype type) {
  return static_cast<std::size_t>(type);
}

ProductTime product_time(const ProductWork& work, const HardwareSpec& hardware, const KernelEfficiency& efficiency,
                         Dtype compute) {
  const double flop_rate = efficiency.compute * hardware.flops[index_of(compute)];
  const double byte_rate = efficiency.memory * hardware.memory_bytes_per_s;
  return {work.kernels * efficiency.start, work.flops / flop_rate, work.weight_bytes / byte_rate,
          work.bytes / byte_rate};
}

std::uint32_t nodes_of(std::uint32_t gpus, const HardwareSpec& hardware) {
  return (gpus + hardware.domain_gpus - 1) / hardware.domain_gpus;
}

double nic_rate(const HardwareSpec& hardware, bool fitted) {
  const double rate = hardware.nic_bytes_per_s * (fitted ? hardware.nic_goodput : 1);
  return rate > 0 ? rate : hardware.pcie_bytes_per_s;
}

// Between the laws of the neighbouring sizes; beyond the ends, that of the end.
AllToAllLaw law_for(const std::vector<AllToAllLaw>& laws, std::uint32_t nodes) {
  const auto above = std::ranges::lower_bound(laws, nodes, {}, &AllToAllLaw::nodes);
  if (above == laws.end()) {
    return laws.back();
  }
  if (above == laws.begin() || above->nodes == nodes) {
    return *above;
  }
  const AllToAllLaw& below = *(above - 1);
  const double t = static_cast<double>(nodes - below.nodes) / (above->nodes - below.nodes);
  const auto mix = [t](double a, double b) { return a + t * (b - a); };
  return {nodes, mix(below.dispatch_latency, above->dispatch_latency),
          1 / mix(1 / below.dispatch_bytes_per_s, 1 / above->dispatch_bytes_per_s),
          mix(below.combine_latency, above->combine_latency),
          1 / mix(1 / below.combine_bytes_per_s, 1 / above->combine_bytes_per_s)};
}

}  // namespace

WeightSplit weight_split(const StepSetup& setup) {
  WeightSplit split;
  split.tp = setup.parallel.tp;
  split.pp = setup.parallel.pp;
  split.experts_held = static_cast<double>(setup.model.experts + setup.redundant_experts) / setup.parallel.ep;
  split.expert_split = setup.parallel.stage_gpus() / setup.parallel.ep;
  split.shared_split = setup.parallel.dp > 1 ? 1 : setup.parallel.tp;
  return split;
}

Roofline::Roofline(const StepSetup& setup, const Efficiency& efficiency) {
  set_products(setup, efficiency);
  set_attention(setup, efficiency);
  set_experts(setup, efficiency);
  set_all_reduce(setup, efficiency);
  set_all_to_all(setup, efficiency);
  set_hop(setup, efficiency.fitted);
}

void Roofline::set_products(const StepSetup& setup, const Efficiency& efficiency) {
  const Dtype compute = setup.precision.compute();
  const KernelEfficiency& gemm = efficiency.gemm[index_of(compute)];
  const std::uint32_t tp = setup.parallel.tp;
  const auto time = [&](const ProductWork& work) { return product_time(work, setup.hardware, gemm, compute); };
  projections_ = time(attention_products(setup.model, setup.precision, tp));
  ffn_ = time(sim::dense_ffn(setup.model, setup.precision, tp));
  head_ = time(sim::head(setup.model, setup.precision, tp));
}

void Roofline::set_attention(const StepSetup& setup, const Efficiency& efficiency) {
  const AttentionWork prefill = prefill_attention(setup.model, setup.precision, setup.parallel.tp);
  const AttentionWork decode = decode_attention(setup.model, setup.precision, setup.parallel.tp);
  // Attention multiplies in bf16 whatever its inputs are stored in.
  const double flops = setup.hardware.flops[index_of(Dtype::bf16)];
  const double bytes = setup.hardware.memory_bytes_per_s;
  const double reached = setup.precision.kv == Dtype::bf16 ? efficiency.decode : efficiency.decode_fp8;
  prefill_pair_ = prefill.flops_per_pair / (efficiency.prefill * flops);
  prefill_context_ = prefill.bytes_per_context / (efficiency.decode * bytes);
  prefill_start_ = efficiency.prefill_start;
  prefill_half_ = efficiency.prefill_tokens;
  decode_pair_ = decode.flops_per_pair / (efficiency.prefill * flops);
  decode_context_ = decode.bytes_per_context / (reached * bytes);
  decode_row_ = decode.bytes_per_row / (efficiency.gemm[index_of(Dtype::bf16)].memory * bytes);
  decode_start_ = efficiency.decode_start;
  const ModelSpec& model = setup.model;
  full_share_ = static_cast<double>(model.layers - model.windowed_layers()) / model.layers;
  window_ = model.window;
}

void Roofline::set_experts(const StepSetup& setup, const Efficiency& efficiency) {
  const ModelSpec& model = setup.model;
  if (!model.is_mixture()) {
    return;
  }
  const Dtype compute = setup.precision.compute();
  const KernelEfficiency& gemm = efficiency.gemm[index_of(compute)];
  const auto& fit = setup.all_to_all == AllToAll::normal ? efficiency.bulk_experts : efficiency.experts;
  const KernelEfficiency& grouped = fit ? fit->kernel : gemm;
  expert_group_ = fit ? fit->group_token : 0;
  const WeightSplit split = weight_split(setup);
  expert_ = product_time(one_expert(model, setup.precision, split.expert_split), setup.hardware, grouped, compute);
  ProductTime shared =
      product_time(one_expert(model, setup.precision, split.shared_split), setup.hardware, gemm, compute);
  const double copies = model.experts_shared;
  shared_ = {copies > 0 ? shared.start : 0, copies * shared.flop, copies * shared.weight, copies * shared.byte};
  router_ = product_time(sim::router(model, setup.precision), setup.hardware, gemm, compute);
  shared_tokens_ = setup.parallel.dp > 1 ? 1.0 / setup.parallel.tp : 1;

  const double skew = setup.parallel.ep > 1 ? setup.expert_skew : 1;
  expert_rows_ = static_cast<double>(model.experts_active) / setup.parallel.ep * skew;
  experts_held_ = split.experts_held;
  const double miss = 1 - static_cast<double>(model.experts_active) / model.experts;
  double missed = 1;
  while (missed > 1e-6) {
    reached_.push_back(1 - missed);
    missed *= miss;
  }
}

void Roofline::set_all_reduce(const StepSetup& setup, const Efficiency& efficiency) {
  const HardwareSpec& hardware = setup.hardware;
  const std::uint32_t tp = setup.parallel.tp;
  if (tp == 1) {
    return;
  }
  const bool fitted = efficiency.fitted;
  const double bytes = kWireBytes * setup.model.hidden;
  const double within = std::min(tp, hardware.domain_gpus);
  if (!efficiency.all_reduce.empty()) {
    const auto law = std::ranges::find_if(efficiency.all_reduce, [&](const auto& x) { return x.gpus >= within; });
    const AllReduceLaw& used = law == efficiency.all_reduce.end() ? efficiency.all_reduce.back() : *law;
    reduce_latency_ = used.latency;
    reduce_token_ = bytes / used.bytes_per_s;
  } else {
    reduce_token_ = 2 * bytes * (within - 1) / within / hardware.domain_bytes_per_s();
  }
  const double nodes = nodes_of(tp, hardware);
  if (nodes > 1) {
    // What is left after reducing within the nodes goes around their NICs, one share each.
    reduce_latency_ += fitted ? kHopLatency * (nodes - 1) : 0;
    reduce_token_ += 2 * bytes * (nodes - 1) / nodes / (hardware.domain_gpus * nic_rate(hardware, fitted));
  }
}

void Roofline::set_all_to_all(const StepSetup& setup, const Efficiency& efficiency) {
  if (setup.parallel.dp == 1) {
    return;
  }
  const ModelSpec& model = setup.model;
  const HardwareSpec& hardware = setup.hardware;
  const double gpus = setup.parallel.stage_gpus();
  const std::uint32_t nodes = nodes_of(setup.parallel.stage_gpus(), hardware);
  const double own = 1.0 / setup.parallel.tp;  // rows that one GPU of the rank sends
  const auto& laws = setup.all_to_all == AllToAll::normal ? efficiency.normal : efficiency.low_latency;
  const double dispatched = own * model.experts_active * model.hidden * kDispatchBytes;
  const double combined = own * model.experts_active * model.hidden * kWireBytes;
  if (!laws.empty()) {
    const AllToAllLaw law = law_for(laws, nodes);
    dispatch_latency_ = law.dispatch_latency;
    dispatch_token_ = dispatched / law.dispatch_bytes_per_s;
    combine_latency_ = law.combine_latency;
    combine_token_ = combined / law.combine_bytes_per_s;
    return;
  }
  // Copies go to GPUs at random: those of the own node over NVLink, those of others over the NIC, both at once.
  const double within = std::min<double>(gpus, hardware.domain_gpus);
  const double inside = (within - 1) / gpus / hardware.domain_bytes_per_s();
  const double outside = (gpus - within) / gpus / nic_rate(hardware, efficiency.fitted);
  dispatch_token_ = dispatched * std::max(inside, outside);
  combine_token_ = combined * std::max(inside, outside);
}

void Roofline::set_hop(const StepSetup& setup, bool fitted) {
  const HardwareSpec& hardware = setup.hardware;
  if (setup.parallel.pp == 1) {
    return;
  }
  const bool one_domain = setup.parallel.rank_gpus() <= hardware.domain_gpus;
  const double rate = one_domain ? hardware.domain_bytes_per_s() : nic_rate(hardware, fitted);
  hop_latency_ = fitted ? kHopLatency : 0;
  hop_token_ = kWireBytes * setup.model.hidden / (rate * setup.parallel.tp);
}

double Roofline::prefill_seconds(const StepLoad& load, double share) const noexcept {
  const double tokens = share * static_cast<double>(load.prefill_tokens);
  const double context = share * static_cast<double>(load.prefill_context) + tokens;
  const double pairs = share * load.prefill_pairs;
  // Longer sequences keep the matrix units busier; the mean length stands for the mix.
  const double length = (static_cast<double>(load.prefill_tokens) + static_cast<double>(load.prefill_context)) /
                        std::max(1u, load.prefill_sequences);
  const double slow = 1 + prefill_half_ / length;
  const double full = std::max(pairs * prefill_pair_ * slow, context * prefill_context_);
  if (window_ == 0) {
    return prefill_start_ + full;
  }
  // The least of two sums, not the sum of what is least for each sequence: too much where some lie within the window
  // and others do not, but never by more than a window's work a sequence (a test says how little that is).
  const double near = std::min(pairs, tokens * window_);
  const double kept = std::min(context, tokens + window_ * load.prefill_sequences);
  const double windowed = std::max(near * prefill_pair_ * slow, kept * prefill_context_);
  return prefill_start_ + full_share_ * full + (1 - full_share_) * windowed;
}

double Roofline::windowed_decode(const StepLoad& load, double share, double rows, double full) const noexcept {
  const double context = share * static_cast<double>(load.decode_context);
  const double near = std::min(context, share * load.decode_sequences * window_);
  return full_share_ * full + (1 - full_share_) * near * std::max(rows * decode_pair_, decode_context_);
}

double Roofline::shared_experts(double tokens) const noexcept {
  return router_.of(tokens) + (shared_.weight > 0 ? shared_.of(tokens * shared_tokens_) : 0);
}

double Roofline::experts(double group_tokens) const noexcept {
  const double rows = group_tokens * expert_rows_;
  const auto whole = static_cast<std::size_t>(group_tokens);
  const double reached = whole < reached_.size() ? reached_[whole] : 1;
  const double compute = rows * expert_.flop;
  const double memory = experts_held_ * reached * expert_.weight + rows * expert_.byte;
  return expert_.start + group_tokens * expert_group_ + std::max(compute, memory);
}

}  // namespace baton::sim
