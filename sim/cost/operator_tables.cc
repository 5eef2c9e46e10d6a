#include "sim/cost/operator_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/cost/csv_table.h"

namespace baton::sim {
namespace {

[[noreturn]] void nothing_fits(const CsvTable& table, const std::string& what) {
  throw Error(Errc::invalid_argument, fmt::format("{}: no row for {}", table.name(), what));
}

// One layer's attention module by (batch, length), for the heads of one GPU.
Grid read_module(const std::string& path, const StepSetup& setup) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t heads = table.column("num_heads");
  const std::size_t batch = table.column("batch_size");
  const std::size_t length = table.column("isl");
  const std::size_t latency = table.column("latency");
  const double wanted = setup.model.heads / setup.parallel.tp;
  std::vector<Grid::Sample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.number(row, heads) == wanted) {
      samples.push_back({{table.number(row, batch), table.number(row, length)}, 1e-3 * table.number(row, latency)});
    }
  }
  if (samples.empty()) {
    nothing_fits(table, fmt::format("{} heads on a GPU", wanted));
  }
  return Grid(std::move(samples), 2);
}

// The value of `column` among the rows that is nearest to `wanted`; the larger of two that are equally near.
double nearest(const CsvTable& table, std::size_t column, double wanted) {
  double best = table.number(0, column);
  for (std::size_t row = 1; row < table.rows(); ++row) {
    const double value = table.number(row, column);
    const double gain = std::abs(best - wanted) - std::abs(value - wanted);
    if (gain > 0 || (gain == 0 && value > best)) {
      best = value;
    }
  }
  return best;
}

double nodes_of(const StepSetup& setup) {
  return std::ceil(static_cast<double>(setup.parallel.stage_gpus()) / setup.hardware.domain_gpus);
}

// True for a row measured with this model's rows and experts.
bool is_model(const CsvTable& table, std::size_t row, const ModelSpec& model) {
  return table.number(row, table.column("hidden_size")) == model.hidden &&
         table.number(row, table.column("num_topk")) == model.experts_active;
}

}  // namespace

OperatorTables OperatorTables::read(const std::string& folder, const StepSetup& setup) {
  if (!setup.model.is_mixture() || setup.parallel.dp == 1) {
    throw Error(Errc::invalid_argument,
                fmt::format("{}: operator tables are of experts shared by the ranks of a group; "
                            "this pool has dp = {} and {} experts",
                            folder, setup.parallel.dp, setup.model.experts));
  }
  OperatorTables tables;
  tables.own_ = 1.0 / setup.parallel.tp;
  tables.read_attention(folder, setup);
  if (setup.all_to_all == AllToAll::normal) {
    tables.read_experts(folder + "/moe_context.csv", setup);
    tables.read_normal(folder + "/deepep_normal.csv", setup);
  } else {
    tables.read_experts(folder + "/moe_generation.csv", setup);
    tables.read_low_latency(folder + "/deepep_low_latency.csv", setup);
  }
  return tables;
}

void OperatorTables::read_attention(const std::string& folder, const StepSetup& setup) {
  prefill_attention_ = read_module(folder + "/mla_context.csv", setup);
  decode_attention_ = read_module(folder + "/mla_generation.csv", setup);
}

void OperatorTables::read_experts(const std::string& path, const StepSetup& setup) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t ep = table.column("moe_ep_size");
  const std::size_t tokens = table.column("num_tokens");
  const std::size_t latency = table.column("latency");
  const std::size_t distribution = table.column("distribution");
  const std::size_t experts = table.column("num_experts");
  const double held = static_cast<double>(setup.model.experts + setup.redundant_experts) / setup.parallel.ep;
  const double measured_experts = table.number(0, experts);
  const double group = nearest(table, ep, measured_experts / held);
  std::vector<Grid::Sample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.number(row, ep) == group && table.number(row, experts) == setup.model.experts &&
        table.word(row, distribution) == "uniform") {
      samples.push_back({{table.number(row, tokens)}, 1e-3 * table.number(row, latency)});
    }
  }
  if (samples.empty()) {
    nothing_fits(table, fmt::format("{} experts, uniform, on {} GPUs", setup.model.experts, group));
  }
  experts_ = Grid(std::move(samples), 1);
  expert_tokens_ = group / setup.parallel.ep * setup.expert_skew;
  other_experts_ = measured_experts / group != held;
}

void OperatorTables::read_normal(const std::string& path, const StepSetup& setup) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t nodes = table.column("node_num");
  const std::size_t tokens = table.column("num_token");
  const std::array dispatch{table.column("dispatch_transmit_us"), table.column("dispatch_notify_us")};
  const std::array combine{table.column("combine_transmit_us"), table.column("combine_notify_us")};
  const double wanted = nearest(table, nodes, nodes_of(setup));
  std::vector<Grid::Sample> sent;
  std::vector<Grid::Sample> returned;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.number(row, nodes) == wanted && is_model(table, row, setup.model)) {
      const double count = table.number(row, tokens);
      sent.push_back({{count}, 1e-6 * (table.number(row, dispatch[0]) + table.number(row, dispatch[1]))});
      returned.push_back({{count}, 1e-6 * (table.number(row, combine[0]) + table.number(row, combine[1]))});
    }
  }
  if (sent.empty()) {
    nothing_fits(table, fmt::format("{} nodes and rows of {}", wanted, setup.model.hidden));
  }
  dispatch_ = Grid(std::move(sent), 1);
  combine_ = Grid(std::move(returned), 1);
  other_nodes_ = wanted != nodes_of(setup);
}

void OperatorTables::read_low_latency(const std::string& path, const StepSetup& setup) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t nodes = table.column("node_num");
  const std::size_t tokens = table.column("num_token");
  const std::size_t dispatch = table.column("dispatch_avg_t_us");
  const std::size_t combine = table.column("combine_avg_t_us");
  const double wanted = nearest(table, nodes, nodes_of(setup));
  std::vector<Grid::Sample> sent;
  std::vector<Grid::Sample> returned;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.number(row, nodes) == wanted && is_model(table, row, setup.model)) {
      sent.push_back({{table.number(row, tokens)}, 1e-6 * table.number(row, dispatch)});
      returned.push_back({{table.number(row, tokens)}, 1e-6 * table.number(row, combine)});
    }
  }
  if (sent.empty()) {
    nothing_fits(table, fmt::format("{} nodes and rows of {}", wanted, setup.model.hidden));
  }
  dispatch_ = Grid(std::move(sent), 1);
  combine_ = Grid(std::move(returned), 1);
  other_nodes_ = wanted != nodes_of(setup);
}

TableTime OperatorTables::attention(const StepLoad& load, double share) const {
  TableTime time;
  const auto add = [&](const Grid& grid, double sequences, double length, double sign) {
    const std::array point{sequences, length};
    const Grid::Answer answer = grid.at(point);
    time.seconds += sign * answer.value;
    time.extrapolated = time.extrapolated || answer.outside;
  };
  if (load.prefill_tokens > 0) {
    const double sequences = std::max(1.0, share * load.prefill_sequences);
    const double context = share * static_cast<double>(load.prefill_context) / sequences;
    const double tokens = share * static_cast<double>(load.prefill_tokens) / sequences;
    // A chunk behind a cached prefix costs what the longer prompt does more than the prefix.
    add(prefill_attention_, sequences, context + tokens, 1);
    if (context > 0) {
      add(prefill_attention_, sequences, context, -1);
    }
  }
  if (load.decode_sequences > 0) {
    const double length = static_cast<double>(load.decode_context) / load.decode_sequences;
    add(decode_attention_, std::max(1.0, share * load.decode_tokens), length, 1);
  }
  return time;
}

TableTime OperatorTables::experts(double group_tokens) const {
  const std::array point{group_tokens * expert_tokens_};
  const Grid::Answer answer = experts_.at(point);
  return {answer.value, answer.outside || other_experts_};
}

TableTime OperatorTables::dispatch(double rank_tokens) const {
  const std::array point{rank_tokens * own_};
  const Grid::Answer answer = dispatch_.at(point);
  return {answer.value, answer.outside || other_nodes_};
}

TableTime OperatorTables::combine(double rank_tokens) const {
  const std::array point{rank_tokens * own_};
  const Grid::Answer answer = combine_.at(point);
  return {answer.value, answer.outside || other_nodes_};
}

}  // namespace baton::sim
