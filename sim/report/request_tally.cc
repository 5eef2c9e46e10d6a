#include "sim/report/request_tally.h"

#include <cmath>
#include <utility>

namespace baton::sim {

// A time that does not exist is not above any limit.
bool Slo::met_by(const RequestRecord& record) const noexcept {
  const auto above = [](double time, const std::optional<double>& limit) { return limit && time > *limit; };
  return record.ok() && !above(record.ttft_ms, ttft_ms) && !above(record.tpot_ms, tpot_ms) &&
         !above(record.e2e_ms, e2e_ms);
}

RequestTally::RequestTally(Slo slo, std::size_t kept_max) : slo_(slo), kept_max_(kept_max) {}

void RequestTally::add(const RequestRecord& record) {
  keep(record);
  ++requests_;
  const bool good = slo_.met_by(record);
  good_ += good ? 1 : 0;
  good_share_.add(good ? 1.0 : 0.0);
  prompt_tokens_ += record.prompt_tokens;
  cached_tokens_ += record.cached_tokens;
  output_tokens_ += record.output_tokens;
  good_output_tokens_ += good ? record.output_tokens : 0;
  moved_bytes_ += record.moved_bytes;
  retractions_ += record.retractions;
  if (!record.ok()) {
    ++failed_;
    ++failures_[record.error ? to_string(*record.error) : "unknown"];
    return;
  }
  const auto add_time = [](SampleSet& samples, double time) {
    if (!std::isnan(time)) {
      samples.add(time);
    }
  };
  add_time(ttft_, record.ttft_ms);
  add_time(tpot_, record.tpot_ms);
  add_time(itl_max_, record.itl_max_ms);
  add_time(e2e_, record.e2e_ms);
  for (std::size_t i = 0; i < kStageCount; ++i) {
    stages_[i].add(record.stages_ms[i]);
  }
}

void RequestTally::keep(const RequestRecord& record) {
  if (kept_max_ == 0 || requests_ % stride_ != 0) {
    return;
  }
  if (kept_.size() == kept_max_) {
    std::size_t left = 1;
    for (std::size_t i = 2; i < kept_.size(); i += 2) {
      kept_[left++] = std::move(kept_[i]);
    }
    kept_.resize(left);
    stride_ *= 2;
    if (requests_ % stride_ != 0) {
      return;
    }
  }
  kept_.push_back(record);
}

}  // namespace baton::sim
