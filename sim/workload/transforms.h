// What can be done to a trace on its way: each takes rows and is rows. Pure but for the seeds; streaming, but for
// sorting.
//
// Conversations stay whole: where a turn is left out, the turns that wait for it are left out, too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/time.h"
#include "sim/workload/arrivals.h"
#include "sim/workload/row_source.h"

namespace baton::sim {

// Leaves out rows without an answer: they failed or were turned away when the trace was taken.
std::unique_ptr<RowSource> drop_failed(std::unique_ptr<RowSource> rows);

// Keeps what arrives in [from, to) and counts time from `from`. Nothing for `to`: all to the end.
std::unique_ptr<RowSource> slice_time(std::unique_ptr<RowSource> rows, Duration from, std::optional<Duration> to);

std::unique_ptr<RowSource> first_rows(std::unique_ptr<RowSource> rows, std::uint64_t count);

// Keeps each row, or each conversation, with this probability, by the seed. The gaps that are left are those of the
// trace, several in one: bursts get weaker, other than by scale_rate.
std::unique_ptr<RowSource> thin(std::unique_ptr<RowSource> rows, double probability, std::uint64_t seed);

// All arrivals `factor` times as fast: bursts stay as they are. Pauses inside conversations, which people make, stay.
std::unique_ptr<RowSource> scale_rate(std::unique_ptr<RowSource> rows, double factor);

// Shortens prompts and answers to at most so many tokens; blocks of what was cut off go.
struct LengthCaps {
  std::optional<std::uint32_t> input;
  std::optional<std::uint32_t> output;
};
std::unique_ptr<RowSource> cap_lengths(std::unique_ptr<RowSource> rows, LengthCaps caps);

// Gives rows arrivals of a process in place of their own.
std::unique_ptr<RowSource> retime(std::unique_ptr<RowSource> rows, const ArrivalSpec& arrivals, std::uint64_t seed);

// Spreads what arrives at one coarse time evenly up to the next time stamp, or over `tick` where that is shorter (a
// trace that was idle in between stays so). The last group is spread as the one before it. Holds one group in memory.
std::unique_ptr<RowSource> spread_ticks(std::unique_ptr<RowSource> rows, std::optional<Duration> tick);

// Sorts by arrival, equal ones in their old order, each with the turns that follow it. Reads all rows at once. rebase:
// time begins with the earliest.
std::unique_ptr<RowSource> sort_rows(std::unique_ptr<RowSource> rows, bool rebase);

// The trace `copies` times, each copy beginning one mean gap after the last arrival of the one before. Copies have
// conversations and prefix blocks of their own: nobody says the same again.
std::unique_ptr<RowSource> repeat_rows(OpenRows open, std::uint64_t copies);

}  // namespace baton::sim
