// Transforms that look at more than one row: spreading, sorting, repeating.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/random.h"
#include "runtime/stable_order.h"
#include "sim/workload/transforms.h"

namespace baton::sim {
namespace {

class SpreadTicks final : public RowSource {
 public:
  SpreadTicks(std::unique_ptr<RowSource> rows, std::optional<Duration> tick) : rows_(std::move(rows)), tick_(tick) {}

  std::optional<TraceRow> next() override {
    if (group_.empty() && !read_group()) {
      return std::nullopt;
    }
    TraceRow row = std::move(group_.front());
    group_.pop_front();
    if (!row.follows) {
      // Multiplied first: the rows share the width to the nanosecond.
      row.request.arrival += Duration(width_.count() / count_ * given_ + width_.count() % count_ * given_ / count_);
      ++given_;
    }
    return row;
  }

 private:
  // All rows of one time stamp with what follows them, and how far it is to the next time stamp.
  bool read_group() {
    if (!ahead_) {
      ahead_ = rows_->next();
    }
    if (!ahead_) {
      return false;
    }
    const Duration begin = ahead_->request.arrival;
    count_ = given_ = 0;
    while (ahead_ && (ahead_->follows || ahead_->request.arrival == begin)) {
      count_ += ahead_->follows ? 0 : 1;
      group_.push_back(std::move(*ahead_));
      ahead_ = rows_->next();
    }
    if (ahead_) {
      width_ = ahead_->request.arrival - begin;
    }
    if (tick_) {
      width_ = ahead_ ? std::min(width_, *tick_) : *tick_;
    }
    return true;
  }

  std::unique_ptr<RowSource> rows_;
  std::optional<Duration> tick_;
  std::optional<TraceRow> ahead_;
  std::deque<TraceRow> group_;
  std::int64_t count_ = 0;  // rows of the group that have an arrival
  std::int64_t given_ = 0;  // of them
  Duration width_{};
};

class SortedRows final : public RowSource {
 public:
  SortedRows(std::unique_ptr<RowSource> rows, bool rebase) : from_(std::move(rows)), rebase_(rebase) {}

  std::optional<TraceRow> next() override {
    if (from_) {
      sort(*std::exchange(from_, nullptr));
    }
    if (given_ == order_.size()) {
      return std::nullopt;
    }
    return std::move(rows_[order_[given_++]]);
  }

 private:
  // Where a row stands: by the arrival of the row that its conversation waits for.
  struct Key {
    Duration arrival;
    std::size_t group;
  };

  void sort(RowSource& from) {
    std::vector<Key> keys;
    std::unordered_map<std::uint64_t, Key> latest;
    while (std::optional<TraceRow> row = from.next()) {
      const std::uint64_t session = row->request.session;
      const auto known = latest.find(session);
      const bool joins = row->follows && known != latest.end();
      const Key key = joins ? known->second : Key{row->request.arrival, rows_.size()};
      keys.push_back(key);
      if (session != 0) {
        latest[session] = key;
      }
      rows_.push_back(std::move(*row));
    }
    order_ = stable_order(rows_.size(), [&keys](std::size_t a, std::size_t b) {
      return std::pair(keys[a].arrival, keys[a].group) < std::pair(keys[b].arrival, keys[b].group);
    });
    const Duration base = rebase_ && !order_.empty() ? keys[order_.front()].arrival : Duration{0};
    for (TraceRow& row : rows_) {
      row.request.arrival -= row.follows ? Duration{0} : base;
    }
  }

  std::unique_ptr<RowSource> from_;
  bool rebase_;
  std::vector<TraceRow> rows_;
  std::vector<std::size_t> order_;
  std::size_t given_ = 0;
};

class RepeatedRows final : public RowSource {
 public:
  RepeatedRows(OpenRows open, std::uint64_t copies) : open_(std::move(open)), copies_(copies), rows_(open_()) {}

  std::optional<TraceRow> next() override {
    std::optional<TraceRow> row = rows_->next();
    if (!row) {
      if (copy_ + 1 >= copies_ || count_ == 0) {
        return std::nullopt;
      }
      begin_copy();
      row = rows_->next();
    }
    if (row && !row->follows) {
      last_ = row->request.arrival;
      first_ = count_ == 0 ? last_ : first_;
      ++count_;
      row->request.arrival += shift_;
    }
    if (row && copy_ > 0) {
      rename(row->request);
    }
    return row;
  }

 private:
  void begin_copy() {
    const Duration gap = count_ > 1 ? (last_ - first_) / (count_ - 1) : Duration(std::chrono::seconds(1));
    shift_ += last_ + gap - first_;
    count_ = 0;
    ++copy_;
    rows_ = open_();
  }

  void rename(TraceRequest& request) const {
    for (std::uint64_t& block : request.blocks) {
      block = renamed(block);
    }
    if (request.session != 0) {
      request.session = std::max<std::uint64_t>(renamed(request.session), 1);
    }
    if (!request.id.empty()) {
      request.id += '/' + std::to_string(copy_);
    }
  }

  std::uint64_t renamed(std::uint64_t id) const {
    std::uint64_t state = id;
    state = splitmix64(state) + copy_;
    return splitmix64(state);
  }

  OpenRows open_;
  std::uint64_t copies_;
  std::unique_ptr<RowSource> rows_;
  std::uint64_t copy_ = 0;
  std::int64_t count_ = 0;  // arrivals of this copy so far
  Duration first_{};
  Duration last_{};
  Duration shift_{};
};

}  // namespace

std::unique_ptr<RowSource> spread_ticks(std::unique_ptr<RowSource> rows, std::optional<Duration> tick) {
  BATON_CHECK(!tick || *tick > Duration{0}, tick->count());
  return std::make_unique<SpreadTicks>(std::move(rows), tick);
}

std::unique_ptr<RowSource> sort_rows(std::unique_ptr<RowSource> rows, bool rebase) {
  return std::make_unique<SortedRows>(std::move(rows), rebase);
}

std::unique_ptr<RowSource> repeat_rows(OpenRows open, std::uint64_t copies) {
  BATON_CHECK(copies > 0);
  return std::make_unique<RepeatedRows>(std::move(open), copies);
}

}  // namespace baton::sim
