// RequestTally: what a report needs of all requests of a run, taken in one by one and not kept.
//
// Four bytes for each time of each request, so that quantiles are exact to the precision of a float, and a thinned-out
// list of whole requests for the timeline: every n-th, where n doubles whenever the list is full, so that it depends on
// the order of the requests alone. A million requests take some 60 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "roles/request_log_record.h"
#include "sim/report/sample_set.h"

namespace baton::sim {

// What a request must keep to count as good. All that are set must hold; a failed request is never good.
struct Slo {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;  // holds for a request of a single token
  std::optional<double> e2e_ms;
  double percentile = 90;  // of requests that must be good for the run to be

  bool met_by(const RequestRecord& record) const noexcept;
  bool any() const noexcept { return ttft_ms || tpot_ms || e2e_ms; }
};

class RequestTally final {
 public:
  explicit RequestTally(Slo slo = {}, std::size_t kept_max = 20'000);

  void add(const RequestRecord& record);

  const Slo& slo() const noexcept { return slo_; }
  std::uint64_t requests() const noexcept { return requests_; }
  std::uint64_t good() const noexcept { return good_; }
  const std::map<std::string, std::uint64_t>& failures() const noexcept { return failures_; }  // by code
  std::uint64_t failed() const noexcept { return failed_; }
  std::uint64_t prompt_tokens() const noexcept { return prompt_tokens_; }
  std::uint64_t cached_tokens() const noexcept { return cached_tokens_; }
  std::uint64_t output_tokens() const noexcept { return output_tokens_; }
  std::uint64_t good_output_tokens() const noexcept { return good_output_tokens_; }  // of good requests
  std::uint64_t moved_bytes() const noexcept { return moved_bytes_; }
  std::uint64_t retractions() const noexcept { return retractions_; }

  // Times in ms of requests that did not fail, in the order in which they ended.
  const SampleSet& ttft() const noexcept { return ttft_; }
  const SampleSet& tpot() const noexcept { return tpot_; }        // of requests of two tokens and more
  const SampleSet& itl_max() const noexcept { return itl_max_; }  // likewise
  const SampleSet& e2e() const noexcept { return e2e_; }
  const SampleSet& stage(Stage stage) const noexcept { return stages_[static_cast<std::size_t>(stage)]; }
  const SampleSet& good_share() const noexcept { return good_share_; }  // 1 or 0, of all requests

  // At most kept_max of them, evenly thinned out, in the order in which they ended.
  const std::vector<RequestRecord>& kept() const noexcept { return kept_; }
  std::uint64_t kept_one_in() const noexcept { return stride_; }

 private:
  void keep(const RequestRecord& record);

  Slo slo_;
  std::size_t kept_max_;
  std::uint64_t requests_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t cached_tokens_ = 0;
  std::uint64_t output_tokens_ = 0;
  std::uint64_t good_output_tokens_ = 0;
  std::uint64_t moved_bytes_ = 0;
  std::uint64_t retractions_ = 0;
  std::map<std::string, std::uint64_t> failures_;
  SampleSet ttft_;
  SampleSet tpot_;
  SampleSet itl_max_;
  SampleSet e2e_;
  SampleSet good_share_;
  std::array<SampleSet, kStageCount> stages_;
  std::vector<RequestRecord> kept_;
  std::uint64_t stride_ = 1;
};

}  // namespace baton::sim
