// Any bytes as a trace file: rows inside all bounds, or refused with an Error. The first byte says how it is read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "runtime/errors.h"
#include "sim/workload/page_keys.h"
#include "sim/workload/servegen.h"
#include "sim/workload/session_replay.h"
#include "sim/workload/trace_info.h"
#include "sim/workload/trace_reader.h"
#include "sim/workload/trace_writer.h"
#include "sim/workload/transforms.h"

namespace {

using namespace baton;
using namespace baton::sim;

constexpr int kDrawnMax = 1000;  // rows of a table of rates, which can stand for billions

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check(const TraceRow& row, Duration last, bool in_order) {
  const TraceRequest& request = row.request;
  require(request.input_tokens >= 1 && request.input_tokens <= kTokensMax);
  require(request.output_tokens <= kTokensMax);
  require(request.think >= Duration{0});
  require(row.follows || request.arrival >= Duration{0});
  require(row.follows || !in_order || (request.arrival >= last && request.arrival <= kArrivalMax));
  require(!row.follows || request.session != 0);
  require(full_block_tokens(request) <= std::uint64_t{request.input_tokens} + request.output_tokens);
  require(prompt_page_keys(request, 16).size() <= request.input_tokens / 16);
}

void read_rows(std::string_view text, const ReadOptions& options) {
  TraceReader reader(input_of_text(text, "input"), options);
  Duration last{};
  while (const auto row = reader.next()) {
    check(*row, last, !options.any_order && reader.has_arrivals());
    last = row->follows ? last : row->request.arrival;
  }
}

void replay(std::string_view text, const ReadOptions& options) {
  std::unique_ptr<RowSource> rows = std::make_unique<TraceReader>(input_of_text(text, "input"), options);
  rows = options.any_order ? sort_rows(std::move(rows), options.rebase) : std::move(rows);
  SessionReplay requests(thin(spread_ticks(std::move(rows), std::nullopt), 0.9, 1));
  Duration last{};
  while (const auto request = requests.next()) {
    require(request->arrival >= last);
    last = request->arrival;
    requests.finished(request->session, request->arrival + Duration(1));
  }
  require(!requests.peek());
}

void write_rows(std::string_view text, const ReadOptions& options, TraceFormat format) {
  TraceReader reader(input_of_text(text, "input"), options);
  const TextSink sink = [](std::string_view) {};
  const auto writer = make_row_writer(format, sink);
  while (const auto row = reader.next()) {
    writer->write(*row);
  }
}

void draw(std::string_view text) {
  RateOptions options;
  options.input = parse_length("uniform:1,100", kTokensMax);
  options.output = options.input;
  const auto rows = rate_rows(input_of_text(text, "input"), options);
  Duration last{};
  for (int i = 0; i < kDrawnMax; ++i) {
    const auto row = rows->next();
    if (!row) {
      return;
    }
    check(*row, last, true);
    last = row->request.arrival;
  }
}

template <class Call>
void attempt(const Call& call) {
  try {
    call();
  } catch (const Error&) {  // a refusal; anything else is a finding
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ReadOptions options;
  const std::size_t format = data[0] & 0x0fU;
  if (format < trace_formats().size() - 1) {  // the last one is no format of rows
    options.format = static_cast<TraceFormat>(format);
  }
  options.any_order = (data[0] & 0x10U) != 0;
  options.rebase = (data[0] & 0x20U) != 0;
  options.block_tokens = (data[0] & 0x40U) != 0 ? 1 : 0;
  attempt([&] { read_rows(text, options); });
  attempt([&] { replay(text, options); });
  attempt([&] { write_rows(text, options, (data[0] & 0x80U) != 0 ? TraceFormat::azure : TraceFormat::mooncake); });
  attempt([&] { draw(text); });
  return 0;
}
