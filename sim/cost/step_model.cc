#include "sim/cost/step_model.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton::sim {
namespace {

// Seconds of formulas, all of one origin.
struct Plain {
  double seconds = 0;

  void add(double more) noexcept { seconds += more; }
  void add(const Plain& other, double times) noexcept { seconds += times * other.seconds; }
  double measured() const noexcept { return 0; }
  double extrapolated() const noexcept { return 0; }
};

// Seconds, and how much of them was measured or lies outside what was measured.
struct Mixed {
  double seconds = 0;
  double from_tables = 0;
  double outside = 0;

  void add(double more) noexcept { seconds += more; }
  void add(const TableTime& time) noexcept {
    seconds += time.seconds;
    from_tables += time.seconds;
    outside += time.extrapolated ? time.seconds : 0;
  }
  void add(const Mixed& other, double times) noexcept {
    seconds += times * other.seconds;
    from_tables += times * other.from_tables;
    outside += times * other.outside;
  }
  double measured() const noexcept { return from_tables; }
  double extrapolated() const noexcept { return outside; }
};

// Where the parts of a layer that tables may hold come from.
struct FromRoofline {
  using Part = Plain;
  static constexpr bool kTables = false;
  Roofline roofline;

  double attention(const StepLoad& load, double share, double rows) const noexcept {
    return roofline.attention(load, share, rows);
  }
  double experts(double group_tokens) const noexcept { return roofline.experts(group_tokens); }
  double dispatch(double tokens) const noexcept { return roofline.dispatch(tokens); }
  double combine(double tokens) const noexcept { return roofline.combine(tokens); }
};

struct FromTables {
  using Part = Mixed;
  static constexpr bool kTables = true;
  OperatorTables tables;

  TableTime attention(const StepLoad& load, double share, double) const { return tables.attention(load, share); }
  TableTime experts(double group_tokens) const { return tables.experts(group_tokens); }
  TableTime dispatch(double tokens) const { return tables.dispatch(tokens); }
  TableTime combine(double tokens) const { return tables.combine(tokens); }
};

// What a layer of a group depends on.
template <class Part>
struct Gathered {
  Part attention;         // of the slowest rank
  double tokens_max = 0;  // of the rank that has most
  double tokens = 0;      // of all ranks
  double sampled = 0;     // of the rank that has most
};

Duration to_duration(double seconds) noexcept {
  return Duration(static_cast<std::int64_t>(seconds * 1e9 + 0.5));
}

template <class Source>
class StepModel final : public CostModel {
 public:
  using Part = typename Source::Part;
  using Group = Gathered<Part>;
  using Loads = std::span<const StepLoad>;

  StepModel(const StepSetup& setup, const Efficiency& efficiency, CostLayer base, Source source)
      : setup_(setup),
        roofline_(setup, efficiency),
        base_(base),
        source_(std::move(source)),
        layers_(setup.model.layers),
        mixture_layers_(setup.model.mixture_layers()),
        bulk_(setup.all_to_all == AllToAll::normal),
        beside_bulk_(bulk_ && setup.two_batch_overlap ? 1 / (1 - efficiency.bulk_share) : 1),
        gaps_(setup.model.layers * seconds(setup.layer_gap)),
        host_(seconds(setup.host_overhead)),
        stages_(setup.parallel.pp),
        fullest_(static_cast<double>((setup.model.layers + stages_ - 1) / stages_) / setup.model.layers) {}

  StepCost cost(const StepLoad& load) const override { return price(Loads(&load, 1)); }
  void round_costs(StepLoad load, std::span<StepCost> costs) const override;
  StepCost group_cost(Loads loads) const override {
    BATON_CHECK(!loads.empty() && loads.size() <= setup_.parallel.dp, loads.size(), setup_.parallel.dp);
    return price(loads);
  }
  std::uint32_t stages() const noexcept override { return stages_; }
  std::string describe() const override;

 private:
  // Rows of the projections: those of the load, or the size of the captured graph that a decode batch runs in.
  double rows_of(const StepLoad& load) const noexcept;
  Group gather(Loads loads, double share) const;
  Part mixture_compute(const Group& group) const;
  Part mixture_wire(const Group& group) const;
  // All layers; adds what of them is communication to `wire`.
  void add_layers(Loads loads, const Group& group, Part& total, double& wire) const;
  void add_mixture(Loads loads, const Group& group, Part& total, double& wire) const;
  void add_overlapped(Loads loads, Part& total, double& wire) const;
  void add_drafts(Loads loads, Part& total, double& wire) const;
  StepCost price(Loads loads) const;
  StepCost bill(const Part& total, double wire, double head, double tokens) const noexcept;

  const StepSetup setup_;
  const Roofline roofline_;
  const CostLayer base_;
  const Source source_;
  const double layers_;
  const double mixture_layers_;
  const bool bulk_;           // all-to-all
  const double beside_bulk_;  // computing beside it over computing alone
  const double gaps_;
  const double host_;
  const std::uint32_t stages_;
  const double fullest_;  // share of the layers that the fullest stage has
};

template <class Source>
double StepModel<Source>::rows_of(const StepLoad& load) const noexcept {
  if (setup_.graph_batches.empty() || load.prefill_tokens > 0) {
    return static_cast<double>(load.tokens());
  }
  const auto size = std::ranges::lower_bound(setup_.graph_batches, load.decode_tokens);
  return size == setup_.graph_batches.end() ? load.decode_tokens : *size;
}

template <class Source>
auto StepModel<Source>::gather(Loads loads, double share) const -> Group {
  Group group;
  for (const StepLoad& load : loads) {
    if (load.empty()) {
      continue;
    }
    const double rows = share * rows_of(load);
    Part own;
    own.add(source_.attention(load, share, rows));
    if (own.seconds > group.attention.seconds) {
      group.attention = own;
    }
    group.tokens_max = std::max(group.tokens_max, rows);
    group.tokens += rows;
    group.sampled = std::max(group.sampled, share * load.sampled);
  }
  return group;
}

template <class Source>
auto StepModel<Source>::mixture_compute(const Group& group) const -> Part {
  Part part = group.attention;
  part.add(roofline_.shared_experts(group.tokens_max));
  part.add(source_.experts(group.tokens));
  return part;
}

template <class Source>
auto StepModel<Source>::mixture_wire(const Group& group) const -> Part {
  Part part;
  if (setup_.parallel.dp == 1) {
    part.add(2 * roofline_.all_reduce(group.tokens_max));
    return part;
  }
  // Reduce-scatter after attention and all-gather before the next together move what one all-reduce does.
  part.add(roofline_.all_reduce(group.tokens_max));  // Who has the most loaded experts receives and returns the most.
  Part moved;
  moved.add(source_.dispatch(group.tokens_max * setup_.expert_skew));
  moved.add(source_.combine(group.tokens_max * setup_.expert_skew));
  part.add(moved, bulk_ && !setup_.two_batch_overlap ? 1 : setup_.wire_slowdown);
  return part;
}

template <class Source>
void StepModel<Source>::add_mixture(Loads loads, const Group& group, Part& total, double& wire) const {
  if (setup_.two_batch_overlap) {
    add_overlapped(loads, total, wire);
    return;
  }
  const Part moved = mixture_wire(group);
  total.add(mixture_compute(group), mixture_layers_);
  total.add(moved, mixture_layers_);
  wire += mixture_layers_ * moved.seconds;
}

template <class Source>
void StepModel<Source>::add_overlapped(Loads loads, Part& total, double& wire) const {
  const Group half = gather(loads, 0.5);
  const Part computed = mixture_compute(half);
  const Part moved = mixture_wire(half);
  const double computing = 2 * beside_bulk_ * computed.seconds;
  const double moving = 2 * moved.seconds;
  const double serial = computing + moving;
  const double hidden = std::max(computing, moving);
  const double took = serial + setup_.overlap_efficiency * (hidden - serial);
  // What is hidden has no origin of its own: the layer's origins share the time it takes.
  const double times = serial > 0 ? mixture_layers_ * took / serial : 0;
  total.add(computed, 2 * beside_bulk_ * times);
  total.add(moved, 2 * times);
  wire += std::max(0.0, mixture_layers_ * (took - computing));
}

template <class Source>
void StepModel<Source>::add_layers(Loads loads, const Group& group, Part& total, double& wire) const {
  const double dense = layers_ - mixture_layers_;
  if (dense > 0) {
    const double moved = 2 * roofline_.all_reduce(group.tokens_max);
    total.add(group.attention, dense);
    total.add(dense * (roofline_.dense_ffn(group.tokens_max) + moved));
    wire += dense * moved;
  }
  if (mixture_layers_ > 0) {
    add_mixture(loads, group, total, wire);
  }
  total.add(gaps_);
}

// Drafts are made one after another, each by a pass of a few layers over one row per sequence.
template <class Source>
void StepModel<Source>::add_drafts(Loads loads, Part& total, double& wire) const {
  std::vector<StepLoad> drafting;
  for (const StepLoad& load : loads) {
    StepLoad draft;
    draft.decode_sequences = draft.decode_tokens = draft.sampled = load.decode_sequences;
    draft.decode_context = load.decode_context;
    drafting.push_back(draft);
  }
  const Group group = gather(drafting, 1);
  if (group.tokens == 0) {
    return;
  }
  Part pass;
  double pass_wire = 0;
  add_layers(drafting, group, pass, pass_wire);
  const Speculation& speculation = setup_.speculation;
  const double passes = speculation.drafts * speculation.draft_layers / layers_;
  total.add(pass, passes);
  wire += passes * pass_wire;
  total.add(speculation.drafts * roofline_.head(group.sampled));
}

template <class Source>
StepCost StepModel<Source>::price(Loads loads) const {
  const Group group = gather(loads, 1);
  if (group.tokens == 0) {
    return {};
  }
  Part total;
  double wire = 0;
  add_layers(loads, group, total, wire);
  if (setup_.speculation.drafts > 0) {
    add_drafts(loads, total, wire);
  }
  return bill(total, wire, roofline_.head(group.sampled), group.tokens_max);
}

// A decode batch has the same rows in every round. Where all layers are alike and nothing is drafted, only the
// attention over its contexts grows; the rest is added in the order of add_layers(), so that sums are equal to the last
// bit.
template <class Source>
void StepModel<Source>::round_costs(StepLoad load, std::span<StepCost> costs) const {
  if (load.prefill_tokens > 0 || load.empty() || mixture_layers_ > 0 || setup_.speculation.drafts > 0) {
    return CostModel::round_costs(load, costs);
  }
  const double rows = rows_of(load);
  const double moved = 2 * roofline_.all_reduce(rows);
  const double others = layers_ * (roofline_.dense_ffn(rows) + moved);
  const double head = roofline_.head(load.sampled);
  for (StepCost& cost : costs) {
    Part attention;
    attention.add(source_.attention(load, 1, rows));
    Part total;
    total.add(attention, layers_);
    total.add(others);
    total.add(gaps_);
    cost = bill(total, layers_ * moved, head, rows);
    load.grow_decode();
  }
}

template <class Source>
StepCost StepModel<Source>::bill(const Part& total, double wire, double head, double tokens) const noexcept {
  const double hops = stages_ == 1 ? 0 : (stages_ - 1) * roofline_.stage_hop(tokens);
  StepCost cost;
  cost.total = to_duration(total.seconds + head + hops + host_);
  // The last stage has the head; its neighbour before it hands over once.
  cost.stage =
      stages_ == 1 ? cost.total : to_duration(total.seconds * fullest_ + head + roofline_.stage_hop(tokens) + host_);
  cost.communication = to_duration(wire + hops);
  cost.by_layer[static_cast<std::size_t>(base_)] = cost.total;
  if constexpr (Source::kTables) {
    const Duration measured = to_duration(total.measured());
    cost.by_layer[static_cast<std::size_t>(base_)] -= measured;
    cost.by_layer[static_cast<std::size_t>(CostLayer::measured)] += measured;
    cost.extrapolated = to_duration(total.extrapolated());
  }
  return cost;
}

template <class Source>
std::string StepModel<Source>::describe() const {
  const Parallel& parallel = setup_.parallel;
  std::string text = fmt::format("model = {}\nhardware = {}\nweights = {}\nactivations = {}\nkv = {}\n",
                                 setup_.model.name, setup_.hardware.name, to_string(setup_.precision.weights),
                                 to_string(setup_.precision.activations), to_string(setup_.precision.kv));
  text += fmt::format("parallel = tp {} pp {} ep {} dp {}\ncost = {}{}\n", parallel.tp, parallel.pp, parallel.ep,
                      parallel.dp, Source::kTables ? "operator tables, else " : "", to_string(base_));
  text +=
      fmt::format("source = {}\n", base_ == CostLayer::fitted ? setup_.hardware.fitted_source : setup_.hardware.source);
  if (setup_.model.is_mixture()) {
    text += fmt::format(
        "expert_skew = {}\nwire_slowdown = {}\nredundant_experts = {}\nall_to_all = {}\noverlap = {}\n",
        setup_.expert_skew, setup_.wire_slowdown, setup_.redundant_experts,
        setup_.all_to_all == AllToAll::normal ? "normal" : "low latency",
        setup_.two_batch_overlap ? fmt::format("two batches, {} of it", setup_.overlap_efficiency) : "none");
  }
  return text;
}

std::unique_ptr<CostModel> make(const StepSetup& setup, const Efficiency& efficiency, CostLayer base) {
  check_setup(setup);
  return std::make_unique<StepModel<FromRoofline>>(setup, efficiency, base, FromRoofline{Roofline(setup, efficiency)});
}

const Efficiency& fitted_of(const HardwareSpec& hardware) {
  if (!hardware.fitted) {
    throw Error(Errc::invalid_argument, fmt::format("there are no fitted constants for {}", hardware.name));
  }
  return *hardware.fitted;
}

}  // namespace

std::unique_ptr<CostModel> make_roofline_model(const StepSetup& setup) {
  return make(setup, Efficiency{}, CostLayer::roofline);
}

std::unique_ptr<CostModel> make_fitted_model(const StepSetup& setup) {
  return make(setup, fitted_of(setup.hardware), CostLayer::fitted);
}

std::unique_ptr<CostModel> make_operator_model(const StepSetup& setup, OperatorTables tables) {
  check_setup(setup);
  FromTables source{std::move(tables)};
  return std::make_unique<StepModel<FromTables>>(setup, fitted_of(setup.hardware), CostLayer::fitted,
                                                 std::move(source));
}

}  // namespace baton::sim
