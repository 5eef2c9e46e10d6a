// Rows as a trace file of another format.
//
// mooncake says most: prefixes, conversations, priorities. The CSV formats have times and lengths only.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/workload/row_source.h"
#include "sim/workload/trace_format.h"

namespace baton::sim {

// Where text goes. Throws when it cannot.
using TextSink = std::function<void(std::string_view)>;

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const TraceRow& row) = 0;
};

const std::vector<TraceFormat>& writable_formats();  // mooncake, vidur, azure, lengths

// The sink outlives the writer. A header, where there is one, is written at once. write() throws
// Error(invalid_argument) for a turn that waits for another in a format that cannot say so. Prefix blocks of another
// size than Mooncake's 512 tokens are re-blocked (page_keys.h) and numbered in the order of their first use.
std::unique_ptr<RowWriter> make_row_writer(TraceFormat format, const TextSink& sink);

}  // namespace baton::sim
