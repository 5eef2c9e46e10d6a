#include "sim/chaos/chaos_endpoint.h"

#include <algorithm>
#include <cstring>

#include "runtime/random.h"

namespace baton::chaos {
namespace {

constexpr Duration kWriteTime = std::chrono::microseconds(20);  // of a write that meets no fault
constexpr double kGhosts = 0.5;                                 // of a dead rank's writes

Traffic traffic_of(NoticeKind kind) noexcept {
  switch (kind) {
    case NoticeKind::written:
      return Traffic::written;
    case NoticeKind::record:
      return Traffic::record;
    case NoticeKind::failed:
      return Traffic::failed;
    case NoticeKind::closed:
      return Traffic::closed;
    case NoticeKind::answer:
      return Traffic::answer;
  }
  return Traffic::answer;
}

std::uint32_t pages_of(const KvWrite& write) noexcept {
  std::uint32_t pages = 0;
  for (const PageRun& run : write.runs) {
    pages += run.pages;
  }
  return pages;
}

// Source and target of the write's n-th page.
PageRun page_at(const KvWrite& write, std::uint32_t page) noexcept {
  for (const PageRun& run : write.runs) {
    if (page < run.pages) {
      return {run.source + page, run.target + page, 1};
    }
    page -= run.pages;
  }
  return {};
}

// The writer's coroutine waits on a pulse of its own; when its frame goes, the write knows nobody any more.
class Waiting final {
 public:
  Waiting(WriteUnderWay& write, Pulse& pulse) : write_(write) { write_.writer_waits = &pulse; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { write_.writer_waits = nullptr; }

 private:
  WriteUnderWay& write_;
};

}  // namespace

void Wires::post(RankId from, const PeerId& to, Notice notice) {
  const Traffic traffic = traffic_of(notice.kind);
  const RoomId room = notice.id.room;
  const auto deliver = [this, to](Notice arrived) {
    if (const auto found = inboxes_.find(to); found != inboxes_.end()) {
      if (arrived.kind == NoticeKind::written) {
        ledger_.write_announced(arrived.id.room, arrived.first_page, arrived.pages);
      }
      found->second.push(std::move(arrived));
    }
  };
  Network::Action torn;
  if (traffic == Traffic::record) {
    torn = [deliver, notice] {
      Notice part = notice;
      std::fill(part.body.begin() + static_cast<std::ptrdiff_t>(part.body.size() / 2), part.body.end(), std::byte{0});
      deliver(std::move(part));
    };
  }
  network_.send(
      from, to.rank, traffic, room, [deliver, notice = std::move(notice)]() mutable { deliver(std::move(notice)); },
      std::move(torn));
}

std::shared_ptr<WriteUnderWay> Wires::begin(const PeerId& writer, KvWrite write) {
  auto under_way = std::make_shared<WriteUnderWay>();
  under_way->writer = writer;
  under_way->room = write.notice ? write.notice->id.room : RoomId{};
  under_way->write = std::move(write);
  const RankId target = under_way->write.target.rank;
  under_way->fate = network_.write_sets_out(writer.rank, target, under_way->room);
  std::erase_if(under_way_, [](const auto& weak) { return weak.expired(); });
  under_way_.push_back(under_way);
  const Duration whole = kWriteTime + network_.latency(writer.rank, target) + under_way->fate.delay;
  const TimePoint now = chronicle_.now();
  network_.at(now + whole / 2, [this, under_way] { half_way(*under_way); });
  network_.at(now + whole, [this, under_way] { at_end(*under_way); });
  return under_way;
}

bool Wires::may_land(const WriteUnderWay& write) const {
  const PeerId& target = write.write.target;
  return !network_.is_cut(write.writer.rank, target.rank) && ledger_.arena_of(target) != nullptr &&
         !fenced_.contains({target, write.writer});
}

void Wires::half_way(WriteUnderWay& write) {
  if (write.over) {
    return;
  }
  if (!may_land(write)) {
    return end(write, true);
  }
  const std::uint32_t half = pages_of(write.write) / 2;
  if (write.fate.fault == Fault::write_failed) {
    return;
  }
  apply(write, half);
  if (write.fate.fault == Fault::write_torn && !write.over) {
    tear_page(write);
  }
}

void Wires::at_end(WriteUnderWay& write) {
  if (write.over) {
    return;
  }
  const bool fails = write.fate.fault == Fault::write_failed || write.fate.fault == Fault::write_torn;
  if (fails || !may_land(write)) {
    return end(write, true);
  }
  apply(write, pages_of(write.write));
  if (write.write.notice && write.fate.fault != Fault::write_unheard) {
    post(write.writer.rank, write.write.target, std::move(*write.write.notice));
  }
  end(write, false);
}

void Wires::apply(WriteUnderWay& write, std::uint32_t pages_until) {
  KvArena& arena = *ledger_.arena_of(write.write.target);
  const std::size_t bytes = write.write.page_bytes;
  for (; write.pages_done < pages_until; ++write.pages_done) {
    const PageRun page = page_at(write.write, write.pages_done);
    const std::byte* source = write.ghost.empty() ? write.write.source_arena + page.source * bytes
                                                  : write.ghost.data() + write.pages_done * bytes;
    ledger_.remote_write(write.writer, write.write.target, write.room, page.target, true);
    std::memcpy(arena.page(page.target).data(), source, bytes);
  }
}

// The first half of the next page: bytes that nobody may take for a page.
void Wires::tear_page(WriteUnderWay& write) {
  if (write.pages_done < pages_of(write.write)) {
    const PageRun page = page_at(write.write, write.pages_done);
    ledger_.remote_write(write.writer, write.write.target, write.room, page.target, false);
    KvArena& arena = *ledger_.arena_of(write.write.target);
    const std::byte* source = write.ghost.empty() ? write.write.source_arena + page.source * write.write.page_bytes
                                                  : write.ghost.data() + write.pages_done * write.write.page_bytes;
    std::memcpy(arena.page(page.target).data(), source, write.write.page_bytes / 2);
  }
}

void Wires::end(WriteUnderWay& write, bool failed) {
  write.over = true;
  write.failed = failed;
  if (write.writer_waits != nullptr) {
    write.writer_waits->notify();
  }
}

void Wires::writer_dies(const PeerId& writer) {
  for (const auto& weak : under_way_) {
    const auto write = weak.lock();
    if (!write || write->over || write->writer != writer) {
      continue;
    }
    std::uint64_t state = scenario_.seed ^ write->room.value;
    const bool lands = static_cast<double>(splitmix64(state) >> 11) * 0x1.0p-53 < kGhosts;
    if (!lands || network_.calm()) {
      write->over = true;
      continue;
    }
    const std::size_t bytes = write->write.page_bytes;
    for (std::uint32_t i = 0; i < pages_of(write->write); ++i) {
      const std::byte* source = write->write.source_arena + page_at(write->write, i).source * bytes;
      write->ghost.insert(write->ghost.end(), source, source + bytes);
    }
    chronicle_.injected({0, Fault::ghost_write, chronicle_.now(), chronicle_.request_of(write->room), writer.rank,
                         write->write.target.rank},
                        write->room);
  }
}

ChaosEndpoint::ChaosEndpoint(Context& context, Endpoint& inner, Wires& wires)
    : context_(context),
      inner_(inner),
      wires_(wires),
      self_(inner.self()),
      inbox_(context, to_string(self_) + " wire") {
  wires_.attach(self_, inbox_.sender());
}

ChaosEndpoint::~ChaosEndpoint() {
  wires_.detach(self_);
}

// Ends only when no byte can land any more. A rank cancels its tasks only when nothing is under way.
Task<Result<>> ChaosEndpoint::write(KvWrite write) {
  const std::shared_ptr<WriteUnderWay> under_way = wires_.begin(self_, std::move(write));
  Pulse over(context_, "write");
  const Waiting waiting(*under_way, over);
  while (!under_way->over) {
    co_await over.wait();
  }
  co_return under_way->failed ? Result<>(Errc::transfer_failed) : Result<>();
}

Task<std::optional<Notice>> ChaosEndpoint::next() {
  co_return co_await inbox_.recv();
}

}  // namespace baton::chaos
