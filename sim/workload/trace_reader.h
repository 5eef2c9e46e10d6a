// A trace file as rows, whatever its format.
//
//   ByteInput --> LineReader --> ElementReader --> RowFormat --> TraceReader: order and bounds of time
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload/byte_input.h"
#include "sim/workload/element_reader.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/row_format.h"
#include "sim/workload/row_source.h"
#include "sim/workload/trace_format.h"

namespace baton::sim {

struct ReadOptions {
  std::optional<TraceFormat> format;  // none: what the file's first line says
  std::uint32_t block_tokens = 0;     // of hash blocks, where not what the format usually has
  bool rebase = false;                // time begins at the first row's; formats that count from 1970 always do so
  bool any_order = false;             // do not refuse time that goes back; for who sorts
};

class TraceReader final : public RowSource {
 public:
  // Reads the first line. Throws what input and detection throw; servegen is refused, see servegen.h.
  TraceReader(std::unique_ptr<ByteInput> input, const ReadOptions& options);

  // Throws Error(invalid_argument) for rows that make no sense, and when there is none at all.
  std::optional<TraceRow> next() override;

  TraceFormat format() const noexcept { return format_; }
  bool rebases() const noexcept { return options_.rebase; }
  bool has_arrivals() const noexcept { return format_ != TraceFormat::lengths; }

 private:
  void check_time(TraceRequest& request);

  LineReader lines_;
  ReadOptions options_;
  TraceFormat format_;
  ElementReader elements_;
  std::unique_ptr<RowFormat> rows_of_;
  std::vector<TraceRow> pending_;
  std::size_t given_ = 0;  // of pending_
  std::uint64_t rows_ = 0;
  std::optional<Duration> base_;
  Duration last_{};
  std::uint64_t last_line_ = 0;
};

}  // namespace baton::sim
