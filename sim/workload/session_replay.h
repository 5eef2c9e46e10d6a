// Rows as requests: those with an arrival of their own as they are, those that follow when the turn before has ended.
//
// Memory: the conversations under way. Single thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/workload/request.h"
#include "sim/workload/row_source.h"

namespace baton::sim {

class SessionReplay final : public RequestSource {
 public:
  explicit SessionReplay(std::unique_ptr<RowSource> rows) : rows_(std::move(rows)) {}

  std::optional<Duration> peek() override;
  std::optional<TraceRequest> next() override;
  void finished(std::uint64_t session, Duration end) override;

 private:
  struct Session {
    std::uint32_t open = 0;  // given out or about to be, and not finished
    Duration end{};          // of the last one that finished
    std::vector<TraceRequest> waiting;
    std::size_t released = 0;  // of waiting
  };
  struct Released {
    std::uint64_t order = 0;
    TraceRequest request;
  };
  struct Later {
    bool operator()(const Released& a, const Released& b) const noexcept;
  };

  void read_ahead();
  void follow(TraceRequest request);
  void release(Session& session, TraceRequest request);
  void forget_if_over(std::uint64_t id);
  bool takes_head() const;

  std::unique_ptr<RowSource> rows_;
  bool ended_ = false;
  std::optional<TraceRequest> head_;  // the next one that has its own arrival
  std::uint64_t tail_session_ = 0;    // of the row that was read last: more of it may come
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::vector<Released> released_;  // a heap, the earliest first
  std::uint64_t order_ = 0;
  Duration taken_{};  // the latest arrival given out
};

}  // namespace baton::sim
