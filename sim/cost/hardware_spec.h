// A kind of GPU: what its data sheet says, and, where somebody measured it, how much of that is reached.
//
// Read from data/hardware/NAME.toml (or a file of the user's). Units inside are bytes, seconds, bytes/s and FLOP/s;
// rates of links are per GPU and one direction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/precision.h"

namespace baton::sim {

// time = start + max(FLOPs / (compute * peak), bytes / (memory * bandwidth))
struct KernelEfficiency {
  double compute = 1;
  double memory = 1;
  double start = 0;  // seconds per kernel
};

// Grouped products of experts: besides their own time, what every token of the group costs that is laid out for them.
struct ExpertEfficiency {
  KernelEfficiency kernel;
  double group_token = 0;  // seconds
};

// An all-reduce among `gpus` within one NVLink domain: latency + bytes / bytes_per_s, bytes being the reduced buffer.
struct AllReduceLaw {
  std::uint32_t gpus = 0;
  double latency = 0;
  double bytes_per_s = 0;
};

// The two halves of an expert all-to-all over `nodes` nodes, by the bytes a GPU sends if every copy counts:
// dispatch tokens * top-k * (h + 4 h / 128), combine tokens * top-k * 2 h.
struct AllToAllLaw {
  std::uint32_t nodes = 0;
  double dispatch_latency = 0;
  double dispatch_bytes_per_s = 0;
  double combine_latency = 0;
  double combine_bytes_per_s = 0;
};

// What is reached of the data sheet. The default is all of it, at once: the pure roofline.
struct Efficiency {
  bool fitted = false;  // true: links reach their goodput, and hops between stages take time to start
  std::array<KernelEfficiency, kDtypes> gemm{};  // by Precision::compute()
  // Grouped products of experts behind a low-latency and behind a bulk all-to-all; without one, as gemm.
  std::optional<ExpertEfficiency> experts, bulk_experts;

  // Attention over prompts reaches prefill * L / (L + prefill_tokens) of the peak at sequence length L.
  double prefill = 1;
  double prefill_tokens = 0;
  double prefill_start = 0;
  // Attention of decode steps: of the bandwidth, by format of the cache.
  double decode = 1;
  double decode_fp8 = 1;
  double decode_start = 0;

  std::vector<AllReduceLaw> all_reduce;  // by gpus, ascending; empty: a ring at line rate without latency
  std::vector<AllToAllLaw> normal;       // by nodes, ascending; empty: line rate without latency
  std::vector<AllToAllLaw> low_latency;
  double bulk_share = 0;  // of the multiprocessors: what a bulk all-to-all keeps from whatever computes meanwhile
};

struct HardwareSpec {
  std::string name;
  std::string source;
  double memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::array<double, kDtypes> flops{};  // dense; a format the matrix units lack runs at the next wider one's rate
  double nvlink_bytes_per_s = 0;        // 0: none
  std::uint32_t domain_gpus = 0;        // GPUs that reach each other over NVLink, or share a node if there is none
  double nic_bytes_per_s = 0;           // line rate in a usual node; 0: none
  double nic_goodput = 1;               // the share of it that reaches memory
  double pcie_bytes_per_s = 0;
  std::optional<Efficiency> fitted;
  std::string fitted_source;

  // Between GPUs of one domain: NVLink, else PCIe.
  double domain_bytes_per_s() const noexcept { return nvlink_bytes_per_s > 0 ? nvlink_bytes_per_s : pcie_bytes_per_s; }
};

// Reads the text of a hardware file; `file` is for messages. Throws Error for what is unknown, missing or absurd.
HardwareSpec parse_hardware(std::string_view text, const std::string& file);

// By name (data/hardware/NAME.toml, compiled in) or, where it ends in .toml, by path.
HardwareSpec load_hardware(const std::string& name_or_path);

}  // namespace baton::sim
