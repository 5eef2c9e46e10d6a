// Operator tables, and how far the fitted constants are from them.

#include "sim/cost/operator_tables.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cost/csv_table.h"
#include "sim/cost/roofline.h"
#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

constexpr const char* kTables = "data/kernels/deepseek_v3_h100";

StepSetup setup_of(std::uint32_t gpus, AllToAll mode) {
  StepSetup setup;
  setup.model = load_model("deepseek-v3");
  setup.hardware = load_hardware("h100");
  setup.precision = {Dtype::fp8_block, Dtype::fp8_block, Dtype::fp8};
  setup.parallel = {.tp = 1, .pp = 1, .ep = gpus, .dp = gpus};
  setup.all_to_all = mode;
  return setup;
}

Roofline fitted(std::uint32_t gpus, AllToAll mode) {
  const StepSetup setup = setup_of(gpus, mode);
  return Roofline(setup, *setup.hardware.fitted);
}

class Deviation final {
 public:
  void add(double predicted, double measured) {
    sum_ += std::abs(predicted / measured - 1);
    ++count_;
  }
  double mean() const { return sum_ / count_; }
  int count() const { return count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// One layer's attention module against its fitted time, for rows of at least `least` tokens.
Deviation module_deviation(const std::string& file, bool prefill, double least) {
  const CsvTable table = CsvTable::read(std::string(kTables) + file);
  const Roofline roofline = fitted(64, AllToAll::low_latency);
  Deviation deviation;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto batch = static_cast<std::uint32_t>(table.number(row, table.column("batch_size")));
    const auto length = static_cast<std::uint32_t>(table.number(row, table.column("isl")));
    StepLoad load;
    for (std::uint32_t i = 0; i < batch; ++i) {
      prefill ? load.add_prefill(length, 0, true) : load.add_decode(length);
    }
    if (static_cast<double>(load.tokens()) >= least) {
      const double seconds = roofline.attention(load, 1, static_cast<double>(load.tokens()));
      deviation.add(1e3 * seconds, table.number(row, table.column("latency")));
    }
  }
  return deviation;
}

TEST_CASE("fitted constants: latent attention is within 10 % in decode, 15 % for prompts of 4,096 tokens and more") {
  const Deviation decode = module_deviation("/mla_generation.csv", false, 1);
  const Deviation prefill = module_deviation("/mla_context.csv", true, 4096);
  MESSAGE(fmt::format("decode {:.1f} % over {} rows, prefill {:.1f} % over {}", 100 * decode.mean(), decode.count(),
                      100 * prefill.mean(), prefill.count()));
  CHECK(decode.mean() < 0.10);
  CHECK(prefill.mean() < 0.15);
  CHECK(decode.count() == 132);
}

TEST_CASE("fitted constants: expert products are within 9 % behind low-latency dispatch, 7 % behind bulk dispatch") {
  for (const AllToAll mode : {AllToAll::low_latency, AllToAll::normal}) {
    const bool bulk = mode == AllToAll::normal;
    const CsvTable table = CsvTable::read(std::string(kTables) + (bulk ? "/moe_context.csv" : "/moe_generation.csv"));
    Deviation deviation;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto gpus = static_cast<std::uint32_t>(table.number(row, table.column("moe_ep_size")));
      const double tokens = table.number(row, table.column("num_tokens"));
      // Bulk dispatch is for prompts: at least 1,024 rows a GPU, and groups of more than two GPUs.
      const bool meant = !bulk || (tokens * 8 / gpus >= 1024 && gpus >= 8);
      if (table.word(row, table.column("distribution")) == "uniform" && meant) {
        deviation.add(1e3 * fitted(gpus, mode).experts(tokens), table.number(row, table.column("latency")));
      }
    }
    MESSAGE(fmt::format("{}: {:.1f} % over {} rows", bulk ? "bulk" : "low latency", 100 * deviation.mean(),
                        deviation.count()));
    CHECK(deviation.mean() < (bulk ? 0.07 : 0.09));
  }
}

TEST_CASE("fitted constants: dispatch and combine are within 4 % in low-latency mode, 7 % in bulk mode") {
  for (const AllToAll mode : {AllToAll::low_latency, AllToAll::normal}) {
    Deviation deviation;
    for (const std::uint32_t gpus : {8u, 16u, 32u, 64u}) {
      const OperatorTables tables = OperatorTables::read(kTables, setup_of(gpus, mode));
      const Roofline roofline = fitted(gpus, mode);
      for (const double tokens : {4, 16, 64, 128, 1024, 4096}) {
        if ((mode == AllToAll::normal) == (tokens > 128)) {
          deviation.add(roofline.dispatch(tokens), tables.dispatch(tokens).seconds);
          deviation.add(roofline.combine(tokens), tables.combine(tokens).seconds);
        }
      }
    }
    MESSAGE(fmt::format("{}: {:.1f} %", mode == AllToAll::normal ? "bulk" : "low latency", 100 * deviation.mean()));
    CHECK(deviation.mean() < (mode == AllToAll::normal ? 0.07 : 0.04));
  }
}

TEST_CASE("fitted constants: all-reduce laws are within 25 % from 256 bytes to 256 MiB") {
  const CsvTable table = CsvTable::read("data/kernels/allreduce_nvlink.csv");
  for (const auto& [gpu, name] :
       {std::pair{"a100", "a100-80g"}, {"h100", "h100"}, {"h200", "h200"}, {"b200", "b200"}}) {
    const HardwareSpec hardware = load_hardware(name);
    Deviation deviation;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.word(row, table.column("gpu")) != gpu) {
        continue;
      }
      for (const AllReduceLaw& law : hardware.fitted->all_reduce) {
        if (law.gpus == table.number(row, table.column("num_gpus"))) {
          const double bytes = 2 * table.number(row, table.column("elements_bf16"));
          deviation.add(1e3 * (law.latency + bytes / law.bytes_per_s), table.number(row, table.column("latency_ms")));
        }
      }
    }
    MESSAGE(fmt::format("{}: {:.1f} % over {} rows", gpu, 100 * deviation.mean(), deviation.count()));
    CHECK(deviation.count() == 69);
    CHECK(deviation.mean() < 0.25);
  }
}

TEST_CASE("OperatorTables: measured points are met, chunks behind a prefix cost the difference") {
  const OperatorTables tables = OperatorTables::read(kTables, setup_of(64, AllToAll::low_latency));
  StepLoad decode;
  for (int i = 0; i < 128; ++i) {
    decode.add_decode(2048);
  }
  CHECK(tables.attention(decode, 1).seconds == doctest::Approx(0.266e-3).epsilon(0.001));
  CHECK_FALSE(tables.attention(decode, 1).extrapolated);
  StepLoad whole;
  StepLoad first;
  StepLoad second;
  whole.add_prefill(4096, 0, true);
  first.add_prefill(2048, 0, false);
  second.add_prefill(2048, 2048, true);
  CHECK(tables.attention(first, 1).seconds + tables.attention(second, 1).seconds ==
        doctest::Approx(tables.attention(whole, 1).seconds));
}

TEST_CASE("OperatorTables: groups and sizes that were not measured count as extrapolated") {
  const OperatorTables measured = OperatorTables::read(kTables, setup_of(64, AllToAll::low_latency));
  CHECK_FALSE(measured.experts(4096).extrapolated);
  CHECK_FALSE(measured.dispatch(64).extrapolated);
  CHECK(measured.dispatch(5000).extrapolated);
  StepSetup setup = setup_of(128, AllToAll::low_latency);
  const OperatorTables wider = OperatorTables::read(kTables, setup);
  CHECK(wider.dispatch(64).extrapolated);
  setup.redundant_experts = 128;
  CHECK(OperatorTables::read(kTables, setup).experts(4096).extrapolated);
}

TEST_CASE("OperatorTables: what does not fit the tables is refused") {
  StepSetup dense = setup_of(8, AllToAll::normal);
  dense.model = load_model("llama-3.1-8b");
  CHECK(contains(error_text([&] { OperatorTables::read(kTables, dense); }), "operator tables are of experts"));
  StepSetup kimi = setup_of(32, AllToAll::normal);
  kimi.model = load_model("kimi-k2");
  CHECK(contains(error_text([&] { OperatorTables::read(kTables, kimi); }), "no row for 64 heads on a GPU"));
  CHECK(contains(error_text([&] { OperatorTables::read("nowhere", setup_of(32, AllToAll::normal)); }),
                 "nowhere/mla_context.csv: cannot be read"));
}

TEST_CASE("CsvTable: malformed files are refused by line and column") {
  CHECK(contains(error_text([] { CsvTable::parse("a,b\n1\n", "t.csv"); }), "t.csv:2: 1 fields, but the header has 2"));
  CHECK(contains(error_text([] { CsvTable::parse("a,b\n", "t.csv"); }), "t.csv: a header and at least one row"));
  const CsvTable table = CsvTable::parse("a,b\r\n1,x\r\n\r\n-2,nan\n", "t.csv");
  CHECK(table.rows() == 2);
  CHECK(table.number(0, 0) == 1);
  CHECK(contains(error_text([&] { table.number(0, 1); }),
                 "t.csv:2: b: a number that is not negative is wanted, not 'x'"));
  CHECK(contains(error_text([&] { table.number(1, 0); }), "t.csv:4: a: a number that is not negative"));
  CHECK(contains(error_text([&] { table.number(1, 1); }), "t.csv:4: b:"));
  CHECK(contains(error_text([&] { table.column("c"); }), "t.csv:1: there is no column 'c'; it has a, b"));
}

}  // namespace
}  // namespace baton::sim
