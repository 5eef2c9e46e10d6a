// A cluster that need not exist, as one plain value: what a cluster file says, with names resolved and defaults filled
// in.
//
// Read from TOML. Every key is used or the file is refused with file, line and key; effective() gives back the complete
// configuration as TOML that reads as the same cluster, and hash() a short name for it, so that a report can say what
// it is about. See examples/clusters/ for files to start from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roles/policy/retraction.h"
#include "roles/policy/routing.h"
#include "runtime/ids.h"
#include "runtime/time.h"
#include "sim/cost/step_law.h"
#include "sim/cost/step_setup.h"

namespace baton::sim {

enum class PoolRole : std::uint8_t { prefill, decode, aggregated };
const char* to_string(PoolRole role) noexcept;

// Where step times come from.
enum class CostKind : std::uint8_t {
  roofline,   // the data sheet alone
  fitted,     // shares of it that were fitted to measurements
  kernels,    // kernel tables of one model on one GPU, in CSV files (columns as LLMServingSim profiles them)
  operators,  // tables of one model's operators for wide expert parallelism (columns as AIConfigurator collects them)
  law,        // closed polynomials
};
const char* to_string(CostKind kind) noexcept;

struct CostSpec {
  CostKind kind = CostKind::roofline;
  // Kernels: paths of attention, dense, per_sequence and, if measured, skew_fit tables. Operators: the folder.
  // As given; relative ones are to the folder of the cluster file.
  std::string attention, dense, per_sequence, skew_fit;
  std::string folder;
  std::string base_folder;  // of the cluster file: what relative paths start from; empty: the working directory
  StepLaw law;

  std::string resolve(const std::string& path) const;  // a path as given, as it is to be opened
};

// What the scheduler of a rank may do. Names as in the runtime's own settings.
struct PoolLimits {
  std::uint32_t step_tokens = 8192;      // rows of one step
  std::uint32_t step_sequences = 64;     // prompts of one step
  std::uint32_t running_max = 256;       // sequences of one decode step
  std::uint32_t lookahead_tokens = 128;  // growth set aside for each admitted request
  std::uint32_t waiting_max = 1u << 20;  // requests that wait; more are refused
  std::uint32_t steps_in_flight = 1;     // of decode; read: the pipeline's stages
  bool even_steps = true;                // of those: equal in size
  bool plan_ahead = false;               // steps are made up while the one before them runs
  policy::Retraction retraction = policy::Retraction::copy;
  policy::Victims victims = policy::Victims::least_lost;
};

struct PoolSpec {
  PoolRole role = PoolRole::decode;
  bool further = false;  // not the first of its role, whose limits and prefix_cache hold for all
  std::uint32_t ranks = 1;
  std::string hardware;  // the name or path it was read from
  StepSetup setup;       // model, hardware, formats, parallelism: of one rank
  CostSpec cost;
  PoolLimits limits;

  // Tokens of keys and values a rank holds: given, or what memory_fraction leaves (cluster_cost.h). Cached
  // prefixes live in it as well.
  std::optional<std::uint64_t> kv_tokens;
  double memory_fraction = 0.9;
  double activation_gib = 0;  // per GPU, taken off before keys and values get the rest
  double graph_gib = 0;
  double collective_gib = 0;
  // Tokens that each of running_max sequences is to have room for at the same time; 0: not checked.
  std::uint32_t running_tokens = 0;

  bool prefix_cache = false;

  double nic_bytes_per_s = 0;     // of a whole rank, one direction, as much as reaches memory
  double nvlink_bytes_per_s = 0;  // of a whole rank to others of its node; 0: they talk over their NICs
  std::uint32_t node_ranks = 1;   // ranks that share a node

  std::uint32_t gpus() const noexcept { return ranks * setup.parallel.rank_gpus(); }
};

enum class Streaming : std::uint8_t { chunk, layer };
const char* to_string(Streaming streaming) noexcept;

struct LinkSpec {
  double spine_bytes_per_s = 0;   // between groups of nodes, per group and direction; 0: as much as they want
  std::uint32_t spine_nodes = 1;  // nodes of a group
  Duration latency{};
  Duration per_message{};
  Streaming streaming = Streaming::chunk;
  bool infinite = false;  // transfers take their latency only: the bound from below
};

struct SloSpec {
  Duration ttft{};  // zero: no objective
  Duration tpot{};
  double percentile = 90;
};

struct ClusterSpec {
  std::string name;
  std::string model_name;  // the name or path it was read from
  ModelSpec model;
  Precision precision;
  std::uint32_t page_tokens = 16;
  std::uint32_t context_tokens = 0;  // prompt and output together; 0: what fits into the pools

  std::optional<PoolSpec> prefill;  // none: the decode pool does both
  PoolSpec decode;
  std::vector<PoolSpec> more_prefill;  // further kinds of ranks of that role
  std::vector<PoolSpec> more_decode;

  LinkSpec links;
  policy::Routing routing = policy::Routing::least_loaded;
  SloSpec slo;
  std::map<std::string, double> usd_per_gpu_hour;  // by the hardware's name in this file
  Duration time_limit{};

  bool aggregated() const noexcept { return !prefill.has_value(); }
  std::vector<const PoolSpec*> pools(Role role) const;  // of prefill, or those that decode, aggregated ones included
  const PoolSpec& pool_of(RankId rank) const;           // ranks of one role are numbered through, kind after kind

  // All settings, defaults and resolved values included, as TOML in a fixed order that parse_cluster() reads back.
  // Comments carry the hashes of the files that names and paths stand for.
  std::string effective() const;
  std::string hash() const;  // 16 hexadecimal digits of xxHash64 over effective()
};

// `file`: for messages, and its folder for relative paths. Throws Error.
ClusterSpec parse_cluster(std::string_view text, const std::string& file);
ClusterSpec read_cluster(const std::string& path);

}  // namespace baton::sim
