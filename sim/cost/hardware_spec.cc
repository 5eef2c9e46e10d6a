#include "sim/cost/hardware_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cost/data_file.h"
#include "sim/cost/table_reader.h"

namespace baton::sim {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr NumberRange kShare{0.001, 1};
constexpr NumberRange kMicroseconds{0, 1e6};
constexpr NumberRange kGbytesPerS{0.001, 1e6};

KernelEfficiency kernel_fields(TableReader& table) {
  KernelEfficiency kernel;
  kernel.compute = table.number("compute", kShare);
  kernel.memory = table.number("memory", kShare);
  kernel.start = kMicro * table.number("start_us", kMicroseconds);
  return kernel;
}

KernelEfficiency read_kernel(TableReader table) {
  const KernelEfficiency kernel = kernel_fields(table);
  table.finish();
  return kernel;
}

std::optional<ExpertEfficiency> read_experts(std::optional<TableReader> table) {
  if (!table) {
    return std::nullopt;
  }
  ExpertEfficiency experts{kernel_fields(*table), 0};
  experts.group_token = 1e-9 * table->number_or("group_token_ns", 0, {0, 1e6});
  table->finish();
  return experts;
}

// Formats without a fit of their own take that of bf16.
void read_gemm(TableReader table, Efficiency& fitted) {
  fitted.gemm.fill(read_kernel(table.table("bf16")));
  for (const auto& [name, type] : kDtypeNames) {
    if (const auto kernel = table.table_or_none(name)) {
      fitted.gemm[static_cast<std::size_t>(type)] = read_kernel(*kernel);
    }
  }
  table.finish();
}

void read_attention(TableReader& fitted_table, Efficiency& fitted) {
  TableReader prefill = fitted_table.table("prefill_attention");
  fitted.prefill = prefill.number("compute", kShare);
  fitted.prefill_tokens = prefill.number("half_tokens", {0, 1e6});
  fitted.prefill_start = kMicro * prefill.number("start_us", kMicroseconds);
  prefill.finish();
  TableReader decode = fitted_table.table("decode_attention");
  fitted.decode = decode.number("memory", kShare);
  fitted.decode_fp8 = decode.number_or("memory_fp8", fitted.decode, kShare);
  fitted.decode_start = kMicro * decode.number("start_us", kMicroseconds);
  decode.finish();
}

std::vector<AllReduceLaw> read_all_reduce(TableReader& fitted_table) {
  std::vector<AllReduceLaw> laws;
  for (TableReader& table : fitted_table.tables_or_none("all_reduce")) {
    AllReduceLaw law;
    law.gpus = table.count("gpus", {2, 1024});
    law.latency = kMicro * table.number("latency_us", kMicroseconds);
    law.bytes_per_s = kGiga * table.number("gbytes_per_s", kGbytesPerS);
    table.finish();
    if (!laws.empty() && laws.back().gpus >= law.gpus) {
      table.refuse("gpus", "the list is to ascend");
    }
    laws.push_back(law);
  }
  return laws;
}

std::vector<AllToAllLaw> read_all_to_all(TableReader& fitted_table, std::string_view key) {
  std::vector<AllToAllLaw> laws;
  for (TableReader& table : fitted_table.tables_or_none(key)) {
    AllToAllLaw law;
    law.nodes = table.count("nodes", {1, 1024});
    law.dispatch_latency = kMicro * table.number("dispatch_latency_us", kMicroseconds);
    law.dispatch_bytes_per_s = kGiga * table.number("dispatch_gbytes_per_s", kGbytesPerS);
    law.combine_latency = kMicro * table.number("combine_latency_us", kMicroseconds);
    law.combine_bytes_per_s = kGiga * table.number("combine_gbytes_per_s", kGbytesPerS);
    table.finish();
    if (!laws.empty() && laws.back().nodes >= law.nodes) {
      table.refuse("nodes", "the list is to ascend");
    }
    laws.push_back(law);
  }
  return laws;
}

void read_fitted(TableReader table, HardwareSpec& spec) {
  Efficiency fitted;
  fitted.fitted = true;
  spec.fitted_source = table.word("source");
  read_gemm(table.table("gemm"), fitted);
  fitted.experts = read_experts(table.table_or_none("experts"));
  fitted.bulk_experts = read_experts(table.table_or_none("bulk_experts"));
  read_attention(table, fitted);
  fitted.all_reduce = read_all_reduce(table);
  fitted.normal = read_all_to_all(table, "all_to_all_normal");
  fitted.low_latency = read_all_to_all(table, "all_to_all_low_latency");
  fitted.bulk_share = table.number_or("bulk_all_to_all_share", 0, {0, 0.9});
  table.finish();
  spec.fitted = std::move(fitted);
}

void read_compute(TableReader table, HardwareSpec& spec) {
  constexpr NumberRange kTeraflops{0.001, 1e6};
  const double bf16 = table.number("bf16", kTeraflops);
  const double fp8 = table.number_or("fp8", bf16, kTeraflops);
  const double fp4 = table.number_or("fp4", fp8, kTeraflops);
  spec.flops = {bf16 * 1e12, fp8 * 1e12, fp8 * 1e12, fp4 * 1e12};
  table.finish();
}

void read_links(TableReader table, HardwareSpec& spec) {
  constexpr NumberRange kFromZero{0, 1e5};
  spec.nvlink_bytes_per_s = kGiga * table.number_or("nvlink", 0, kFromZero);
  spec.nic_bytes_per_s = kGiga * table.number_or("nic", 0, kFromZero);
  spec.nic_goodput = table.number_or("nic_goodput", 1, kShare);
  spec.pcie_bytes_per_s = kGiga * table.number("pcie", {0.001, 1e5});
  spec.domain_gpus = table.count("domain_gpus", {1, 1024});
  table.finish();
}

}  // namespace

HardwareSpec parse_hardware(std::string_view text, const std::string& file) {
  const TomlNode root = parse_toml(text, file);
  TableReader table(root, file);
  HardwareSpec spec;
  spec.name = table.word("name");
  spec.source = table.word("source");
  TableReader memory = table.table("memory");
  spec.memory_bytes = memory.number("gib", {0.1, 1e5}) * 1024 * 1024 * 1024;
  spec.memory_bytes_per_s = memory.number("terabytes_per_s", {0.001, 1e4}) * 1e12;
  memory.finish();
  read_compute(table.table("teraflops"), spec);
  read_links(table.table("links"), spec);
  if (const auto fitted = table.table_or_none("fitted")) {
    read_fitted(*fitted, spec);
  }
  table.finish();
  return spec;
}

HardwareSpec load_hardware(const std::string& name_or_path) {
  const DataFile file = find_data_file(DataKind::hardware, name_or_path);
  return parse_hardware(file.text, file.place);
}

}  // namespace baton::sim
