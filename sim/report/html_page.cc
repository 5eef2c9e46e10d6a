#include "sim/report/html_page.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "roles/http/json_writer.h"
#include "runtime/check.h"

namespace baton::sim {
namespace {

constexpr std::string_view kDataPlace = "@DATA@";
constexpr std::size_t kSamplesMax = 2000;
constexpr std::size_t kCurveSteps = 200;

// Shares of a curve: even steps, and some more where the tail is.
std::vector<double> curve_shares() {
  std::vector<double> shares;
  for (std::size_t i = 0; i <= kCurveSteps; ++i) {
    shares.push_back(static_cast<double>(i) / kCurveSteps);
  }
  for (const double tail : {0.9975, 0.999, 0.9995, 0.9999}) {
    shares.insert(shares.end() - 1, tail);
  }
  return shares;
}

void add_numbers(std::string& out, std::string_view name, const std::vector<double>& values) {
  fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{:.5g}", i == 0 ? "" : ",", values[i]);
  }
  out += ']';
}

void add_curves(std::string& out, const RunResult& result) {
  const std::vector<double> shares = curve_shares();
  std::vector<double> gaps;
  for (const double share : shares) {
    gaps.push_back(milliseconds_of(result.gaps.quantile(share)));
  }
  out += "\"curves\":{";
  add_numbers(out, "shares", shares);
  const auto add = [&](std::string_view name, const SampleSet& samples) {
    out += ',';
    add_numbers(out, name, samples.empty() ? std::vector<double>() : samples.quantiles(shares));
  };
  add("TTFT", result.requests.ttft());
  add("TPOT", result.requests.tpot());
  out += ',';
  add_numbers(out, "ITL", result.gaps.count() == 0 ? std::vector<double>() : gaps);
  add("E2E", result.requests.e2e());
  out += "},";
}

// One column of the samples, as means over `stride` of them.
template <class Get>
void add_column(std::string& out, std::string_view name, const std::vector<ClusterSample>& samples, Get get) {
  const std::size_t stride = std::max<std::size_t>(1, (samples.size() + kSamplesMax - 1) / kSamplesMax);
  std::vector<double> means;
  for (std::size_t begin = 0; begin < samples.size(); begin += stride) {
    const std::size_t end = std::min(begin + stride, samples.size());
    double sum = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += get(samples[i]);
    }
    means.push_back(sum / static_cast<double>(end - begin));
  }
  add_numbers(out, name, means);
}

void add_samples(std::string& out, const RunResult& result) {
  using S = ClusterSample;
  const auto& samples = result.samples;
  out += "\"samples\":{";
  add_column(out, "time", samples, [&](const S& s) { return seconds(s.time - result.began); });
  out += ',';
  add_column(out, "waiting_prefill", samples, [](const S& s) { return s.waiting_prefill; });
  out += ',';
  add_column(out, "computing_prefill", samples, [](const S& s) { return s.computing_prefill; });
  out += ',';
  add_column(out, "in_transfer", samples, [](const S& s) { return s.in_transfer; });
  out += ',';
  add_column(out, "waiting_decode", samples, [](const S& s) { return s.waiting_decode; });
  out += ',';
  add_column(out, "running_decode", samples, [](const S& s) { return s.running_decode; });
  out += ',';
  add_column(out, "prefill_busy", samples, [](const S& s) { return s.prefill_busy * 100; });
  out += ',';
  add_column(out, "decode_busy", samples, [](const S& s) { return s.decode_busy * 100; });
  out += ',';
  add_column(out, "links_busy", samples, [](const S& s) { return s.links_busy * 100; });
  out += ',';
  add_column(out, "pages_used", samples, [](const S& s) { return s.pages_used * 100; });
  out += "},";
}

void add_rank(std::string& out, const std::optional<RankId>& rank) {
  out += ',';
  if (rank) {
    append_json_string(out, to_string(*rank));
  } else {
    out += "null";
  }
}

// [id, arrival s, 0 failed | 1 served | 2 good, ttft ms, e2e ms, prompt, cached, output, prefill, decode, error,
//  stages ms ...]
void add_request(std::string& out, const RunResult& result, const RequestRecord& record) {
  out += '[';
  append_json_string(out, record.id);
  const double arrival = record.arrival_s - seconds(result.began.time_since_epoch());
  const int state = !record.ok() ? 0 : result.requests.slo().met_by(record) ? 2 : 1;
  fmt::format_to(std::back_inserter(out), ",{:.4f},{},", arrival, state);
  out += std::isnan(record.ttft_ms) ? "null" : fmt::format("{:.5g}", record.ttft_ms);
  fmt::format_to(std::back_inserter(out), ",{:.6g},{},{},{}", record.e2e_ms, record.prompt_tokens, record.cached_tokens,
                 record.output_tokens);
  add_rank(out, record.prefill);
  add_rank(out, record.decode);
  out += ',';
  append_json_string(out, record.error ? to_string(*record.error) : "");
  for (const double stage : record.stages_ms) {
    fmt::format_to(std::back_inserter(out), ",{:.5g}", stage);
  }
  out += ']';
}

void add_requests(std::string& out, const RunResult& result) {
  out += "\"stages\":[";
  for (std::size_t i = 0; i < kStageCount; ++i) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\"", i == 0 ? "" : ",", to_string(static_cast<Stage>(i)));
  }
  fmt::format_to(std::back_inserter(out), "],\"one_in\":{},\"requests\":[", result.requests.kept_one_in());
  for (std::size_t i = 0; i < result.requests.kept().size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    add_request(out, result, result.requests.kept()[i]);
  }
  out += ']';
}

}  // namespace

std::string page_data(const RunResult& result, const Summary& summary) {
  std::string out = "{\"summary\":";
  out += summary_json(result, summary);
  out += ',';
  add_curves(out, result);
  add_samples(out, result);
  add_requests(out, result);
  out += "}\n";
  return out;
}

// A '<' inside the data could end the element that holds it; in JSON it may stand as an escape.
std::string html_page(const RunResult& result, const Summary& summary) {
  const std::size_t place = kPageText.find(kDataPlace);
  BATON_CHECK(place != std::string_view::npos);
  std::string page(kPageText.substr(0, place));
  for (const char c : page_data(result, summary)) {
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  page += kPageText.substr(place + kDataPlace.size());
  return page;
}

}  // namespace baton::sim
