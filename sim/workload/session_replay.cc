#include "sim/workload/session_replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton::sim {

bool SessionReplay::Later::operator()(const Released& a, const Released& b) const noexcept {
  return std::pair(a.request.arrival, a.order) > std::pair(b.request.arrival, b.order);
}

std::optional<Duration> SessionReplay::peek() {
  read_ahead();
  if (takes_head()) {
    return head_->arrival;
  }
  return released_.empty() ? std::nullopt : std::optional(released_.front().request.arrival);
}

std::optional<TraceRequest> SessionReplay::next() {
  read_ahead();
  std::optional<TraceRequest> request;
  if (takes_head()) {
    request = std::exchange(head_, std::nullopt);
  } else if (!released_.empty()) {
    std::ranges::pop_heap(released_, Later{});
    request = std::move(released_.back().request);
    released_.pop_back();
  }
  if (request) {
    taken_ = std::max(taken_, request->arrival);
  }
  return request;
}

void SessionReplay::finished(std::uint64_t session, Duration end) {
  if (session == 0) {
    return;
  }
  read_ahead();
  const auto found = sessions_.find(session);
  BATON_CHECK(found != sessions_.end() && found->second.open > 0, session);
  Session& state = found->second;
  --state.open;
  state.end = std::max(state.end, end);
  if (state.open == 0 && state.released < state.waiting.size()) {
    release(state, std::move(state.waiting[state.released++]));
  }
  forget_if_over(session);
}

bool SessionReplay::takes_head() const {
  return head_ && (released_.empty() || head_->arrival <= released_.front().request.arrival);
}

// Up to the next row that has its own arrival: what follows on the way belongs to the row before.
void SessionReplay::read_ahead() {
  while (!head_ && !ended_) {
    std::optional<TraceRow> row = rows_->next();
    const std::uint64_t before = tail_session_;
    ended_ = !row;
    tail_session_ = row ? row->request.session : 0;
    if (row && row->follows) {
      if (tail_session_ == 0 || tail_session_ != before) {
        throw Error(Errc::invalid_argument,
                    fmt::format("a turn (turn {} of {} input tokens) does not stand behind the turn that it follows; "
                                "sorting puts them together (--sort)",
                                row->request.turn, row->request.input_tokens));
      }
      follow(std::move(row->request));
      continue;
    }
    if (before != tail_session_) {
      forget_if_over(before);
    }
    if (row) {
      if (tail_session_ != 0) {
        ++sessions_[tail_session_].open;
      }
      head_ = std::move(row->request);
    }
  }
}

void SessionReplay::follow(TraceRequest request) {
  Session& session = sessions_[request.session];
  if (session.open == 0) {
    release(session, std::move(request));
  } else {
    session.waiting.push_back(std::move(request));
  }
}

void SessionReplay::release(Session& session, TraceRequest request) {
  ++session.open;
  request.arrival = std::max(taken_, session.end + request.think);
  released_.push_back({++order_, std::move(request)});
  std::ranges::push_heap(released_, Later{});
}

void SessionReplay::forget_if_over(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (id != tail_session_ && found != sessions_.end() && found->second.open == 0) {
    sessions_.erase(found);
  }
}

}  // namespace baton::sim
