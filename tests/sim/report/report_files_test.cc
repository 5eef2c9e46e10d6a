// The trace and the page: valid, complete, and in need of nothing else.
#include <filesystem>
#include <fstream>
#include <string>

#include <boost/json/value.hpp>
#include <doctest/doctest.h>
#include <unistd.h>

#include "model/files/json_document.h"
#include "runtime/errors.h"
#include "sim/report/html_page.h"
#include "sim/report/perfetto.h"
#include "sim/report/write_report.h"
#include "tests/sim/report/sample_run.h"

using namespace baton;
using namespace baton::sim;

namespace {

std::string trace_of(const RunResult& result) {
  std::string text;
  trace_json(result, [&text](std::string_view piece) { text += piece; });
  return text;
}

// What stands in the page's data element, as a browser would take it.
std::string data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("trace_json: every span is on the line of its track, and queues are counters") {
  const RunResult result = test::sample_run();
  const boost::json::value document = parse_json(trace_of(result), "trace");
  const auto& events = document.at_pointer("/traceEvents").as_array();
  std::size_t spans = 0;
  std::size_t counters = 0;
  std::size_t names = 0;
  for (const auto& event : events) {
    const auto& kind = event.at("ph").as_string();
    spans += kind == "X" ? 1 : 0;
    counters += kind == "C" ? 1 : 0;
    names += kind == "M" ? 1 : 0;
    if (kind == "X" && event.at("name").as_string() == "transfer") {
      CHECK(event.at("pid").to_number<int>() == 2);
      CHECK(event.at("tid").to_number<int>() == 2);
      CHECK(event.at("ts").to_number<double>() == 10'000.0);
      CHECK(event.at("dur").to_number<double>() == 1500.0);
      CHECK(event.at_pointer("/args/bytes").to_number<int>() == 512);
    }
  }
  CHECK(spans == result.spans.size());
  CHECK(counters == 2 * result.samples.size());
  CHECK(names == 4 + result.tracks.size());
}

TEST_CASE("html_page: the data comes through whatever the ids hold, and nothing is asked of elsewhere") {
  const RunResult result = test::sample_run();
  const Summary summary = summarize(result);
  const std::string page = html_page(result, summary);
  CHECK(count_of(page, "</script>") == 2);
  CHECK(count_of(page, "http://") == 0);
  CHECK(count_of(page, "https://") == 0);
  CHECK(count_of(page, " src=") == 0);
  CHECK(count_of(page, "@DATA@") == 0);
  const boost::json::value data = parse_json(data_of(page), "page");
  CHECK(data.at_pointer("/requests").as_array().size() == 1000);
  CHECK(data.at_pointer("/requests/3/0").as_string() == "</script>\"<b>");
  CHECK(data.at_pointer("/requests/7/2").to_number<int>() == 0);
  CHECK(data.at_pointer("/requests/0/1").to_number<double>() == doctest::Approx(0.0));
  CHECK(data.at_pointer("/curves/TTFT").as_array().size() == data.at_pointer("/curves/shares").as_array().size());
  CHECK(data.at_pointer("/summary/requests").to_number<int>() == 1000);
}

TEST_CASE("html_page: many samples are thinned out by their means") {
  const RunResult result = test::sample_run();
  const boost::json::value data = parse_json(page_data(result, summarize(result)), "page");
  const auto& times = data.at_pointer("/samples/time").as_array();
  CHECK(times.size() == 1667);
  CHECK(data.at_pointer("/samples/decode_busy").as_array().size() == times.size());
  CHECK(data.at_pointer("/samples/decode_busy/5").to_number<double>() == doctest::Approx(80));
}

TEST_CASE("html_page: a run of nothing still gives a page") {
  const RunResult nothing;
  parse_json(data_of(html_page(nothing, summarize(nothing))), "page");
}

TEST_CASE("write_report: makes the folder and its three files; a place that is none is said") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("baton_report_" + std::to_string(::getpid()));
  const RunResult result = test::sample_run();
  write_report(result, summarize(result), (folder / "deep").string());
  for (const char* name : {"summary.json", "trace.json", "report.html"}) {
    CHECK(std::filesystem::file_size(folder / "deep" / name) > 1000);
  }
  std::ofstream(folder / "file") << "x";
  CHECK_THROWS_AS(write_report(result, summarize(result), (folder / "file").string()), Error);
  std::filesystem::remove_all(folder);
}
