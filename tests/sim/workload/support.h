// What the tests of this folder share: rows from text, and what was said when it was refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/errors.h"
#include "sim/workload/row_source.h"
#include "sim/workload/trace_reader.h"

namespace baton::sim {

inline std::vector<TraceRow> all_rows(RowSource& rows) {
  std::vector<TraceRow> all;
  while (std::optional<TraceRow> row = rows.next()) {
    all.push_back(std::move(*row));
  }
  return all;
}

inline std::vector<TraceRow> all_rows(std::unique_ptr<RowSource> rows) {
  return all_rows(*rows);
}

inline std::vector<TraceRow> rows_of_text(std::string_view text, const ReadOptions& options = {}) {
  TraceReader reader(input_of_text(text, "t"), options);
  return all_rows(reader);
}

// Rows that are given.
class FixedRows final : public RowSource {
 public:
  explicit FixedRows(std::vector<TraceRow> rows) : rows_(std::move(rows)) {}
  std::optional<TraceRow> next() override {
    return given_ == rows_.size() ? std::nullopt : std::optional(rows_[given_++]);
  }

 private:
  std::vector<TraceRow> rows_;
  std::size_t given_ = 0;
};

inline TraceRow row_at(Duration arrival, std::uint64_t session = 0) {
  TraceRow row;
  row.request.arrival = arrival;
  row.request.input_tokens = 100;
  row.request.output_tokens = 10;
  row.request.session = session;
  return row;
}

inline TraceRow row_after(std::uint64_t session, Duration think) {
  TraceRow row = row_at(Duration{0}, session);
  row.follows = true;
  row.request.think = think;
  return row;
}

// The message of the Error that a call throws; empty: it throws none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline std::string refusal_of_text(std::string_view text, const ReadOptions& options = {}) {
  return refusal([&] { rows_of_text(text, options); });
}

}  // namespace baton::sim
