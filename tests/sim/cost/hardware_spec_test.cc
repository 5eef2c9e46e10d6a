#include "sim/cost/hardware_spec.h"

#include <string>

#include <doctest/doctest.h>

#include "sim/cost/data_file.h"
#include "tests/sim/cost/error_text.h"

namespace baton::sim {
namespace {

TEST_CASE("HardwareSpec: the files have the ridges of the data sheets, in bf16 FLOPs per byte") {
  const auto ridge = [](const char* name) {
    const HardwareSpec spec = load_hardware(name);
    return spec.flops[0] / spec.memory_bytes_per_s;
  };
  CHECK(ridge("a100-80g") == doctest::Approx(153).epsilon(0.003));
  CHECK(ridge("h100") == doctest::Approx(295).epsilon(0.003));
  CHECK(ridge("h20") == doctest::Approx(37).epsilon(0.003));
  CHECK(ridge("h200") == doctest::Approx(206).epsilon(0.003));
  CHECK(ridge("b200") == doctest::Approx(292).epsilon(0.003));
  CHECK(ridge("mi300x") == doctest::Approx(247).epsilon(0.003));
  CHECK(ridge("l40s") == doctest::Approx(419).epsilon(0.003));
}

TEST_CASE("HardwareSpec: every file is read, and a format the matrix units lack runs as the next wider one") {
  for (const std::string& name : data_names(DataKind::hardware)) {
    CAPTURE(name);
    const HardwareSpec spec = load_hardware(name);
    CHECK(spec.flops[1] >= spec.flops[0]);
    CHECK(spec.domain_bytes_per_s() > 0);
    CHECK_FALSE(spec.source.empty());
    CHECK(spec.fitted.has_value() == !spec.fitted_source.empty());
  }
  const HardwareSpec a100 = load_hardware("a100-80g");
  CHECK(a100.flops[static_cast<std::size_t>(Dtype::fp8)] == a100.flops[0]);
  CHECK(a100.fitted->gemm[static_cast<std::size_t>(Dtype::fp8)].compute == 0.80);
  CHECK(load_hardware("H100").fitted->low_latency.size() == 4);
}

constexpr const char* kSmall = R"(name = "small"
source = "here"
[memory]
gib = 1
terabytes_per_s = 1
[teraflops]
bf16 = 1
[links]
pcie = 1
domain_gpus = 1
)";

TEST_CASE("HardwareSpec: a hardware file that does not make sense is refused by line and key") {
  CHECK(parse_hardware(kSmall, "h.toml").memory_bytes == 1024.0 * 1024 * 1024);
  const std::string text = kSmall;
  const auto refused = [](const std::string& changed) {
    return error_text([&] { parse_hardware(changed, "h.toml"); });
  };
  CHECK(contains(refused(text + "nvlnk = 3\n"), "h.toml:11: links.nvlnk: unknown"));
  CHECK(contains(refused(text + "nic_goodput = 1.5\n"), "h.toml:11: links.nic_goodput: a number from 0.001 to 1"));
  CHECK(contains(refused(text + "nic = nan\n"), "h.toml:11: links.nic:"));
  CHECK(contains(refused(text + "[fitted]\nsource = \"x\"\n"), "fitted.gemm: missing"));
  CHECK(contains(refused("name = \"x\"\n"), "source: missing"));
}

}  // namespace
}  // namespace baton::sim
