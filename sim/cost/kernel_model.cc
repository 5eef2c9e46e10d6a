#include "sim/cost/kernel_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"
#include "sim/cost/csv_table.h"
#include "sim/cost/grid.h"
#include "sim/cost/roofline.h"
#include "sim/cost/skew_table.h"

namespace baton::sim {
namespace {

constexpr double kMicro = 1e-6;

Grid read_attention(const std::string& path) {
  const CsvTable table = CsvTable::read(path);
  // Chunk and decode count first: which cached lengths were measured depends on them.
  const std::array axes{table.column("prefill_chunk"), table.column("n_decode"), table.column("kv_prefill"),
                        table.column("kv_decode")};
  const std::size_t time = table.column("time_us");
  std::vector<Grid::Sample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Grid::Sample sample{{}, kMicro * table.number(row, time)};
    std::ranges::transform(axes, sample.at.begin(), [&](std::size_t axis) { return table.number(row, axis); });
    samples.push_back(sample);
  }
  return Grid(std::move(samples), axes.size());
}

// How often a step runs the kernel of that name.
double runs_of(const std::string& name, const ModelSpec& model) {
  if (name == "embedding" || name == "final_layernorm" || name == "lm_head" || name == "sampler") {
    return 1;
  }
  return name == "layernorm" ? 2.0 * model.layers : model.layers;
}

// All kernels of one file together, by their size: they were measured at the same sizes, so that the sum is as linear
// between them as each is.
Grid read_sum(const std::string& path, std::string_view size_column, const ModelSpec& model) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t layer = table.column("layer");
  const std::size_t size = table.column(size_column);
  const std::size_t time = table.column("time_us");
  std::map<double, double> sums;
  std::map<double, std::set<std::string>> names;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double at = table.number(row, size);
    sums[at] += kMicro * table.number(row, time) * runs_of(table.word(row, layer), model);
    if (!names[at].insert(table.word(row, layer)).second) {
      throw Error(Errc::bad_file, fmt::format("{}:{}: {} at {} is there twice", path, table.line(row),
                                              table.word(row, layer), table.word(row, size)));
    }
  }
  std::vector<Grid::Sample> samples;
  for (const auto& [at, sum] : sums) {
    if (names[at] != names.begin()->second) {
      throw Error(Errc::bad_file,
                  fmt::format("{}: {} {} have not all the kernels of the others", path, at, size_column));
    }
    samples.push_back({{at}, sum});
  }
  return Grid(std::move(samples), 1);
}

class KernelModel final : public CostModel {
 public:
  KernelModel(const StepSetup& setup, const KernelPaths& paths)
      : setup_(setup),
        collectives_(setup, setup.hardware.fitted.value_or(Efficiency{})),
        attention_(read_attention(paths.attention)),
        dense_(read_sum(paths.dense, "tokens", setup.model)),
        per_sequence_(read_sum(paths.per_sequence, "sequences", setup.model)) {
    if (!paths.skew_fit.empty()) {
      skew_ = SkewTable::read(paths.skew_fit);
    }
  }

  StepCost cost(const StepLoad& load) const override;

  StepCost group_cost(std::span<const StepLoad> loads) const override {
    BATON_CHECK(loads.size() == 1, loads.size());
    return cost(loads.front());
  }

  std::uint32_t stages() const noexcept override { return 1; }

  std::string describe() const override {
    return fmt::format("model = {}\nhardware = {}\ncost = kernel tables\n", setup_.model.name, setup_.hardware.name);
  }

 private:
  Grid::Answer attention(const StepLoad& load) const;
  Grid::Answer attention_at(const StepLoad& load, double kv_decode) const {
    const std::array point{static_cast<double>(load.prefill_tokens), static_cast<double>(load.decode_sequences),
                           static_cast<double>(load.prefill_context), kv_decode};
    return attention_.at(point);
  }

  const StepSetup setup_;
  const Roofline collectives_;
  const Grid attention_;
  const Grid dense_;
  const Grid per_sequence_;
  SkewTable skew_;
};

Grid::Answer KernelModel::attention(const StepLoad& load) const {
  if (load.decode_sequences == 0) {
    return attention_at(load, 0);
  }
  Grid::Answer mean = attention_at(load, static_cast<double>(load.decode_context) / load.decode_sequences);
  const double alpha = skew_.alpha(load);
  if (alpha != 0) {
    const Grid::Answer longest = attention_at(load, load.decode_context_max);
    mean.value += alpha * std::max(0.0, longest.value - mean.value);
    mean.outside = mean.outside || longest.outside;
  }
  return mean;
}

StepCost KernelModel::cost(const StepLoad& load) const {
  if (load.empty()) {
    return {};
  }
  const auto tokens = static_cast<double>(load.tokens());
  // An engine computes logits for every sequence of a step, ended prompt or not.
  const double sequences = std::max(load.sampled, load.prefill_sequences + load.decode_sequences);
  const Grid::Answer attention_time = attention(load);
  const Grid::Answer dense = dense_.at(std::array{tokens});
  const Grid::Answer ends = per_sequence_.at(std::array{sequences});
  const double layers = setup_.model.layers;
  const double wire = layers * 2 * collectives_.all_reduce(tokens);
  const double measured = layers * attention_time.value + dense.value + ends.value;
  const double outside = (attention_time.outside ? layers * attention_time.value : 0) +
                         (dense.outside ? dense.value : 0) + (ends.outside ? ends.value : 0);
  const double assumed = wire + layers * seconds(setup_.layer_gap) + seconds(setup_.host_overhead);
  const auto duration = [](double s) { return Duration(static_cast<std::int64_t>(s * 1e9 + 0.5)); };
  StepCost cost;
  cost.total = cost.stage = duration(measured + assumed);
  cost.by_layer[static_cast<std::size_t>(CostLayer::measured)] = duration(measured);
  cost.by_layer[static_cast<std::size_t>(CostLayer::fitted)] = cost.total - duration(measured);
  cost.extrapolated = duration(outside);
  cost.communication = duration(wire);
  return cost;
}

}  // namespace

std::unique_ptr<CostModel> make_kernel_model(const StepSetup& setup, const KernelPaths& paths) {
  check_setup(setup);
  if (setup.parallel.pp > 1 || setup.parallel.dp > 1) {
    throw Error(Errc::invalid_argument,
                fmt::format("kernel tables know no pp = {} and dp = {}", setup.parallel.pp, setup.parallel.dp));
  }
  return std::make_unique<KernelModel>(setup, paths);
}

}  // namespace baton::sim
