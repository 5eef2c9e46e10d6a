// Transforms that look at one row at a time.
#include "sim/workload/transforms.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"
#include "runtime/random.h"
#include "sim/workload/row_fields.h"

namespace baton::sim {
namespace {

// Rows that a predicate keeps. Remembers the conversations of which something was left out while they go on.
template <std::predicate<TraceRow&> Keep>
class Filter final : public RowSource {
 public:
  Filter(std::unique_ptr<RowSource> rows, Keep keep) : rows_(std::move(rows)), keep_(std::move(keep)) {}

  std::optional<TraceRow> next() override {
    while (std::optional<TraceRow> row = rows_->next()) {
      const std::uint64_t session = row->request.session;
      if (row->follows && dropped_.contains(session)) {
        continue;
      }
      if (keep_(*row)) {
        return row;
      }
      if (session != 0) {
        dropped_.insert(session);
      }
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<RowSource> rows_;
  Keep keep_;
  std::unordered_set<std::uint64_t> dropped_;
};

template <class Keep>
std::unique_ptr<RowSource> filtered(std::unique_ptr<RowSource> rows, Keep keep) {
  return std::make_unique<Filter<Keep>>(std::move(rows), std::move(keep));
}

template <std::invocable<TraceRow&> Change>
class Changed final : public RowSource {
 public:
  Changed(std::unique_ptr<RowSource> rows, Change change) : rows_(std::move(rows)), change_(std::move(change)) {}

  std::optional<TraceRow> next() override {
    std::optional<TraceRow> row = rows_->next();
    if (row) {
      change_(*row);
    }
    return row;
  }

 private:
  std::unique_ptr<RowSource> rows_;
  Change change_;
};

template <class Change>
std::unique_ptr<RowSource> changed(std::unique_ptr<RowSource> rows, Change change) {
  return std::make_unique<Changed<Change>>(std::move(rows), std::move(change));
}

class FirstRows final : public RowSource {
 public:
  FirstRows(std::unique_ptr<RowSource> rows, std::uint64_t count) : rows_(std::move(rows)), left_(count) {}

  std::optional<TraceRow> next() override {
    if (left_ == 0) {
      return std::nullopt;
    }
    --left_;
    return rows_->next();
  }

 private:
  std::unique_ptr<RowSource> rows_;
  std::uint64_t left_;
};

// Ends at the first row that arrives at `to` or later; what follows rows before it comes along.
class UntilTime final : public RowSource {
 public:
  UntilTime(std::unique_ptr<RowSource> rows, Duration to) : rows_(std::move(rows)), to_(to) {}

  std::optional<TraceRow> next() override {
    if (over_) {
      return std::nullopt;
    }
    std::optional<TraceRow> row = rows_->next();
    over_ = !row || (!row->follows && row->request.arrival >= to_);
    return over_ ? std::nullopt : std::move(row);
  }

 private:
  std::unique_ptr<RowSource> rows_;
  Duration to_;
  bool over_ = false;
};

void cap(TraceRequest& request, const LengthCaps& caps) {
  if (caps.output) {
    request.output_tokens = std::min(request.output_tokens, *caps.output);
  }
  if (caps.input && *caps.input < request.input_tokens) {
    request.input_tokens = *caps.input;
    request.blocks_of_output = false;  // they stood behind the whole prompt
  }
  if (request.block_tokens > 0) {
    const std::uint64_t tokens =
        std::uint64_t{request.input_tokens} + (request.blocks_of_output ? request.output_tokens : 0U);
    const std::uint64_t blocks = (tokens + request.block_tokens - 1) / request.block_tokens;
    request.blocks.resize(std::min<std::uint64_t>(request.blocks.size(), blocks));
  }
}

}  // namespace

std::unique_ptr<RowSource> drop_failed(std::unique_ptr<RowSource> rows) {
  return filtered(std::move(rows), [](const TraceRow& row) { return row.request.output_tokens > 0; });
}

std::unique_ptr<RowSource> slice_time(std::unique_ptr<RowSource> rows, Duration from, std::optional<Duration> to) {
  BATON_CHECK(from >= Duration{0} && (!to || *to > from), from.count());
  if (to) {
    rows = std::make_unique<UntilTime>(std::move(rows), *to);
  }
  return filtered(std::move(rows), [from](TraceRow& row) {
    const bool keeps = row.follows || row.request.arrival >= from;
    row.request.arrival -= row.follows ? Duration{0} : from;
    return keeps;
  });
}

std::unique_ptr<RowSource> first_rows(std::unique_ptr<RowSource> rows, std::uint64_t count) {
  return std::make_unique<FirstRows>(std::move(rows), count);
}

std::unique_ptr<RowSource> thin(std::unique_ptr<RowSource> rows, double probability, std::uint64_t seed) {
  BATON_CHECK(probability >= 0 && probability <= 1, probability);
  const Random base(seed);
  return filtered(std::move(rows), [probability, base, random = base.fork(0)](const TraceRow& row) mutable {
    // By its number, so that all turns of a conversation share its fate even where each has its own arrival.
    const std::uint64_t session = row.request.session;
    return session == 0 ? random.chance(probability) : base.fork(session).chance(probability);
  });
}

std::unique_ptr<RowSource> scale_rate(std::unique_ptr<RowSource> rows, double factor) {
  BATON_CHECK(factor > 0, factor);
  return changed(std::move(rows), [factor](TraceRow& row) {
    const double scaled = static_cast<double>(row.request.arrival.count()) / factor;
    if (!(scaled <= static_cast<double>(kArrivalMax.count()))) {
      throw Error(Errc::invalid_argument,
                  fmt::format("a rate scaled by {} would make this trace longer than a year", factor));
    }
    row.request.arrival = Duration(std::llround(scaled));
  });
}

std::unique_ptr<RowSource> cap_lengths(std::unique_ptr<RowSource> rows, LengthCaps caps) {
  return changed(std::move(rows), [caps](TraceRow& row) { cap(row.request, caps); });
}

std::unique_ptr<RowSource> retime(std::unique_ptr<RowSource> rows, const ArrivalSpec& arrivals, std::uint64_t seed) {
  return changed(std::move(rows), [process = ArrivalProcess(arrivals, Random(seed).fork(1))](TraceRow& row) mutable {
    if (!row.follows) {
      row.request.arrival = process.next();
    }
  });
}

}  // namespace baton::sim
