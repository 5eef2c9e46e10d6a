// Any text as the description of a synthetic load: requests inside all bounds, or refused with an Error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/errors.h"
#include "sim/workload/page_keys.h"
#include "sim/workload/row_fields.h"
#include "sim/workload/synthetic.h"

namespace {

using namespace baton;
using namespace baton::sim;

constexpr int kRows = 50;
constexpr std::uint64_t kBlocksMax = 1 << 20;  // that one request may name: more would only be slow
constexpr std::uint32_t kGroupsMax = 1000;     // likewise

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void draw(const SyntheticSpec& spec) {
  const auto rows = synthetic_rows(spec);
  Duration last{};
  for (int i = 0; i < kRows; ++i) {
    const auto row = rows->next();
    if (!row) {
      return;
    }
    const TraceRequest& request = row->request;
    require(request.input_tokens >= 1 && request.output_tokens >= 1);
    require(std::uint64_t{request.input_tokens} + request.output_tokens <= spec.context_max);
    require(row->follows || (request.arrival >= last && request.arrival <= kArrivalMax));
    require(request.think >= Duration{0});
    require(!row->follows || request.session != 0);
    last = row->follows ? last : request.arrival;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const SyntheticSpec spec = parse_synthetic({reinterpret_cast<const char*>(data), size}, "input");
    const bool is_small = spec.context_max / spec.block_tokens < kBlocksMax && spec.prefix_groups < kGroupsMax;
    if (spec.lengths.empty() && is_small) {  // no files of this machine
      draw(spec);
    }
  } catch (const Error&) {  // a refusal; anything else is a finding
  }
  return 0;
}
