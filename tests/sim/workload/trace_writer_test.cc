#include "sim/workload/trace_writer.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/workload/output_file.h"
#include "sim/workload/page_keys.h"
#include "sim/workload/synthetic.h"
#include "tests/sim/workload/support.h"

namespace {

using namespace baton;
using namespace baton::sim;
using std::chrono_literals::operator""ns;

std::string written(const std::vector<TraceRow>& rows, TraceFormat format) {
  std::string text;
  const TextSink sink = [&text](std::string_view piece) { text += piece; };
  const auto writer = make_row_writer(format, sink);
  for (const TraceRow& row : rows) {
    writer->write(row);
  }
  return text;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("RowWriter: mooncake keeps all there is, read back and forth") {
  const std::string text =
      R"({"request_id": "a \"b\"", "session_id": "7", "timestamp": 0.000001, "input_length": 1000, )"
      R"("output_length": 5, "hash_ids": [3, 18446744073709551615], "priority": 50})"
      "\n"
      R"({"session_id": "7", "delay_ms": 1500, "input_length": 1, "output_length": 0, "hash_ids": []})"
      "\n"
      R"({"timestamp": 86400000.25, "input_length": 9, "output_length": 9})"
      "\n";
  const auto rows = rows_of_text(text);
  CHECK(rows[0].request.arrival == 1ns);
  const auto again = rows_of_text(written(rows, TraceFormat::mooncake));
  REQUIRE(again.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const TraceRequest& before = rows[i].request;
    const TraceRequest& after = again[i].request;
    CHECK(before.arrival == after.arrival);
    CHECK(before.think == after.think);
    CHECK(before.input_tokens == after.input_tokens);
    CHECK(before.output_tokens == after.output_tokens);
    CHECK(before.blocks == after.blocks);
    CHECK(before.block_tokens == after.block_tokens);
    CHECK(before.priority == after.priority);
    CHECK(before.id == after.id);
    CHECK((before.session == 0) == (after.session == 0));
    CHECK(rows[i].follows == again[i].follows);
  }
}

TEST_CASE("RowWriter: blocks of another size become Mooncake's, and share what they shared") {
  const auto rows = all_rows(synthetic_rows(parse_synthetic(
      "requests = 200\nprefix-groups = 2\nprefix-tokens = 1100\nturns = 2\ninput = 700\nblock-tokens = 16", "t")));
  const auto again = rows_of_text(written(rows, TraceFormat::mooncake));
  REQUIRE(again.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(again[i].request.blocks.size() == (rows[i].request.input_tokens + 511) / 512);
    for (std::size_t j = 0; j < i; ++j) {
      const auto keys = prompt_page_keys(rows[i].request, 512);
      const auto other = prompt_page_keys(rows[j].request, 512);
      for (std::size_t n = 0; n < std::min(keys.size(), other.size()); ++n) {
        REQUIRE((keys[n] == other[n]) == (again[i].request.blocks[n] == again[j].request.blocks[n]));
      }
    }
  }
}

TEST_CASE("RowWriter: CSV formats keep time and lengths") {
  const auto rows = rows_of_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,7,1\n86400.1234567,8,0\n");
  CHECK(written(rows, TraceFormat::vidur) ==
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,7,1\n86400.1234567,8,0\n");
  CHECK(written(rows, TraceFormat::azure) ==
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00.0000000,7,1\n2024-01-02 00:00:00.1234567,8,0\n");
  CHECK(written(rows, TraceFormat::lengths) == "num_prefill_tokens,num_decode_tokens\n7,1\n8,0\n");
  const auto again = rows_of_text(written(rows, TraceFormat::azure));
  CHECK(again[1].request.arrival == rows[1].request.arrival);
}

TEST_CASE("RowWriter: a turn that waits is refused where a format cannot say so") {
  CHECK(refusal([] { written({row_after(7, 5ns)}, TraceFormat::vidur); }) ==
        "this trace has turns that wait for others, which vidur cannot say; mooncake can");
}

TEST_CASE("OutputFile: is whole after close, and not there without") {
  const std::string path = "trace_writer_test.txt";
  {
    OutputFile file(path);
    file.write("new");
  }
  CHECK(content_of(path).empty());
  OutputFile file(path);
  file.write("new ");
  file.write("text");
  CHECK(content_of(path).empty());
  file.close();
  CHECK(content_of(path) == "new text");
  {
    OutputFile given_up(path);
    given_up.write("other");
  }
  CHECK(content_of(path) == "new text");
  CHECK(content_of(path + ".part").empty());
  std::remove(path.c_str());
}

TEST_CASE("OutputFile: gzip by name, the same bytes each time") {
  const std::string path = "trace_writer_test.csv.gz";
  std::string before;
  for (int i = 0; i < 2; ++i) {
    OutputFile file(path);
    file.write("arrived_at,num_prefill_tokens,num_decode_tokens\n0,7,1\n");
    file.close();
    CHECK((before.empty() || before == content_of(path)));
    before = content_of(path);
  }
  TraceReader reader(open_input(path), {});
  CHECK(all_rows(reader).size() == 1);
  std::remove(path.c_str());
}

TEST_CASE("OutputFile: a place that does not exist") {
  CHECK(refusal([] { OutputFile("no/such/folder/x"); }) ==
        "no/such/folder/x: cannot be written: No such file or directory");
}

}  // namespace
