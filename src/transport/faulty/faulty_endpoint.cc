#include "transport/faulty/faulty_endpoint.h"

#include <algorithm>

#include "runtime/sleep.h"

namespace baton {
namespace {

// The first part of a write, cut at half pages: page ids count halves then.
KvWrite torn(const KvWrite& write, double fraction) {
  std::uint32_t halves = 0;
  for (const PageRun& run : write.runs) {
    halves += 2 * run.pages;
  }
  auto left = static_cast<std::uint32_t>(fraction * halves);
  std::vector<PageRun> runs;
  for (const PageRun& run : write.runs) {
    const std::uint32_t taken = std::min(left, 2 * run.pages);
    left -= taken;
    if (taken > 0) {
      runs.push_back({2 * run.source, 2 * run.target, taken});
    }
  }
  return {write.target, write.memory_key, write.page_bytes / 2, write.source_arena, std::move(runs), std::nullopt};
}

}  // namespace

FaultyEndpoint::FaultyEndpoint(Context& context, Endpoint& inner, FaultPlan& plan)
    : context_(context), inner_(inner), plan_(plan), changed_(context, "delayed notices") {}

Task<> FaultyEndpoint::run() {
  for (;;) {
    while (!delayed_.empty() && delayed_.begin()->first.first <= context_.now()) {
      auto first = delayed_.extract(delayed_.begin());
      if (held_ == first.key()) {
        held_.reset();
      }
      inner_.post(first.mapped().to, std::move(first.mapped().notice));
    }
    co_await changed_.wait_until(delayed_.empty() ? kNever : delayed_.begin()->first.first);
  }
}

Task<Result<>> FaultyEndpoint::write(KvWrite write) {
  const TransferId id = write.notice ? write.notice->id : TransferId();
  const Fault fault = decide(true, NoticeKind::written, id, write.target);
  std::optional<Notice> notice = std::exchange(write.notice, std::nullopt);
  const PeerId target = write.target;
  if (fault.kind == FaultKind::delay || fault.kind == FaultKind::hold_back || fault.kind == FaultKind::fail) {
    co_await sleep_until(context_, context_.now() + fault.delay);
  }
  if (fault.kind == FaultKind::fail) {
    co_return Errc::transfer_failed;
  }
  if (fault.kind == FaultKind::tear) {
    KvWrite part = torn(write, fault.fraction);
    co_await inner_.write(std::move(part));
    co_return Errc::transfer_failed;
  }
  const bool twice = fault.kind == FaultKind::duplicate;
  if (twice) {
    KvWrite first = write;
    co_await inner_.write(std::move(first));
  }
  const Result<> written = co_await inner_.write(std::move(write));
  if (written && notice && fault.kind != FaultKind::drop) {
    if (twice) {
      post(target, *notice);
    }
    post(target, std::move(*notice));
  }
  co_return written;
}

void FaultyEndpoint::post(const PeerId& to, Notice notice) noexcept {
  const Fault fault = decide(false, notice.kind, notice.id, to);
  switch (fault.kind) {
    case FaultKind::none:
      deliver(to, std::move(notice));
      break;
    case FaultKind::delay:
      post_later(to, std::move(notice), fault.delay);
      break;
    case FaultKind::hold_back: {
      release_held();
      held_ = post_later(to, std::move(notice), fault.delay);
      break;
    }
    case FaultKind::duplicate:
      post_later(to, notice, fault.delay);
      deliver(to, std::move(notice));
      break;
    case FaultKind::tear:
      if (notice.kind == NoticeKind::record) {
        notice.body.resize(static_cast<std::size_t>(fault.fraction * static_cast<double>(notice.body.size())));
        deliver(to, std::move(notice));
      }
      break;
    case FaultKind::drop:
    case FaultKind::fail:
      break;
  }
}

Fault FaultyEndpoint::decide(bool is_write, NoticeKind notice, const TransferId& id, const PeerId& to) {
  FaultPoint point;
  point.operation = operations_++;
  point.is_write = is_write;
  point.notice = notice;
  point.id = id;
  point.to = to;
  const Fault fault = plan_.next(point);
  faults_ += fault.kind == FaultKind::none ? 0 : 1;
  return fault;
}

FaultyEndpoint::Due FaultyEndpoint::post_later(const PeerId& to, Notice notice, Duration delay) {
  const Due due{add_saturating(context_.now(), delay), delayed_count_++};
  delayed_.emplace(due, Delayed{to, std::move(notice)});
  changed_.notify();
  return due;
}

void FaultyEndpoint::deliver(const PeerId& to, Notice notice) {
  inner_.post(to, std::move(notice));
  release_held();
}

void FaultyEndpoint::release_held() {
  if (held_) {
    auto held = delayed_.extract(*held_);
    held_.reset();
    inner_.post(held.mapped().to, std::move(held.mapped().notice));
  }
}

}  // namespace baton
