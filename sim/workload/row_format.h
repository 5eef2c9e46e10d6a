// How one row of a format becomes requests. A format is an object because some remember: which column is which, who
// spoke before in a chat.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/workload/row_fields.h"
#include "sim/workload/row_source.h"
#include "sim/workload/trace_format.h"

namespace baton::sim {

class RowFormat {
 public:
  virtual ~RowFormat() = default;

  // Appends what the text of one row, which is not blank, stands for; nothing for a header. Throws
  // Error(invalid_argument) with the place and the field.
  virtual void read(const RowPlace& place, std::string_view text, std::vector<TraceRow>& rows) = 0;
};

// block_tokens: 0, or the size of hash blocks where a file has another than its format usually has. servegen is no
// format of rows; see servegen.h.
std::unique_ptr<RowFormat> make_csv_format(TraceFormat format);
std::unique_ptr<RowFormat> make_json_format(TraceFormat format, std::uint32_t block_tokens);
std::unique_ptr<RowFormat> make_session_format(std::uint32_t block_tokens);  // llmservingsim

}  // namespace baton::sim
