#include "sim/explorer/explore.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/explorer/board.h"
#include "sim/explorer/forked.h"
#include "sim/explorer/signals.h"
#include "sim/explorer/trial.h"

namespace baton::chaos {
namespace {

std::int64_t steady_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A world is made and torn down every millisecond: the memory of one is kept for the next.
void keep_memory() noexcept {
  constexpr int kManyBytes = 256 << 20;
  mallopt(M_TRIM_THRESHOLD, kManyBytes);
  mallopt(M_MMAP_THRESHOLD, kManyBytes);
}

// In the child: seeds until there are none, or until one fails.
void work(const ExploreOptions& options, const DrawFunction& draw, const RunFunction& run, Board& board,
          unsigned worker) {
  keep_memory();
  WorkerSlot& slot = board.slot(worker);
  Tally tally;
  while (const std::optional<std::uint64_t> index = board.take()) {
    slot.begin(*index, steady_ns());
    const RunReport report = run(draw(options.first + *index), {});
    tally.add(report);
    slot.publish(tally);
    if (const std::optional<Finding> finding = finding_of(report)) {
      slot.tell(*index, *finding);
      board.failed(*index);
      return;
    }
    board.put_digest(*index, report.digest);
    slot.end();
  }
}

class Crew final {
 public:
  Crew(const ExploreOptions& options, const DrawFunction& draw, const RunFunction& run)
      : options_(options), board_(options.seeds, options.jobs, options.digests) {
    for (unsigned i = 0; i < options.jobs; ++i) {
      Worker& worker = workers_.emplace_back();
      worker.pid = fork_child(worker.words);
      if (worker.pid == 0) {
        be_worker(draw, run, i);
      }
    }
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { end_all(); }

  Exploration watch() {
    using std::chrono::steady_clock;
    constexpr auto kLook = std::chrono::milliseconds(100);
    steady_clock::time_point shown = steady_clock::now();
    while (std::ranges::any_of(workers_, &Worker::alive)) {
      signals_.wait(kLook);
      if (signals_.interrupted()) {
        end_all();
      }
      reap();
      end_endless();
      end_needless();
      if (options_.progress && steady_clock::now() - shown >= kLook) {
        shown = steady_clock::now();
        options_.progress(board_.tally());
      }
    }
    return result();
  }

 private:
  struct Worker {
    StderrFile words;
    pid_t pid = 0;
    bool alive = true;
    bool ended_by_us = false;
    std::optional<WorkerSlot::Told> found;  // by the parent, of a worker that did not live to tell
  };

  [[noreturn]] void be_worker(const DrawFunction& draw, const RunFunction& run, unsigned index) {
    try {
      work(options_, draw, run, board_, index);
      ::_exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "exception: {}\n", error.what());
    }
    ::_exit(1);
  }

  void reap() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      int status = 0;
      if (!worker.alive || ::waitpid(worker.pid, &status, WNOHANG) == 0) {
        continue;
      }
      worker.alive = false;
      const WorkerSlot& slot = board_.slot(static_cast<unsigned>(i));
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (!well && !worker.ended_by_us) {
        const Death death = explain_death(status, worker.words.text());
        if (slot.index() == kNoIndex) {
          throw std::runtime_error("a worker died between two seeds: " + death.cause);
        }
        found(worker, slot.index(), Finding{kAbortRule, death.cause, death.place, {}});
      }
    }
  }

  void end_endless() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const WorkerSlot& slot = board_.slot(static_cast<unsigned>(i));
      const std::uint64_t index = slot.index();
      Worker& worker = workers_[i];
      const bool busy = worker.alive && !worker.ended_by_us && index != kNoIndex;
      if (busy && steady_ns() - slot.since_ns() > options_.seed_limit.count() && slot.index() == index) {
        end(worker);
        found(worker, index, endless_finding(options_.seed_limit));
      }
    }
  }

  // Seeds above the lowest failing one are of no use any more. A worker between two seeds looks by itself.
  void end_needless() {
    const std::uint64_t lowest = board_.lowest_failure();
    for (std::size_t i = 0; i < workers_.size() && lowest != kNoIndex; ++i) {
      const std::uint64_t index = board_.slot(static_cast<unsigned>(i)).index();
      if (workers_[i].alive && index != kNoIndex && index > lowest) {
        end(workers_[i]);
      }
    }
  }

  void found(Worker& worker, std::uint64_t index, Finding finding) {
    worker.found = WorkerSlot::Told{index, std::move(finding)};
    board_.failed(index);
  }

  static void end(Worker& worker) {
    worker.ended_by_us = true;
    ::kill(worker.pid, SIGKILL);
  }

  void end_all() {
    for (Worker& worker : workers_) {
      if (worker.alive) {
        end(worker);
        while (::waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        worker.alive = false;
      }
    }
  }

  Exploration result() {
    Exploration result;
    result.tally = board_.tally();
    result.interrupted = signals_.interrupted();
    std::uint64_t lowest = kNoIndex;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      auto told = workers_[i].found ? workers_[i].found : board_.slot(static_cast<unsigned>(i)).told();
      if (told && (!result.finding || told->index < lowest)) {
        lowest = told->index;
        result.finding = std::move(told->finding);
        result.seed = options_.first + lowest;
      }
    }
    for (std::uint64_t i = 0; options_.digests && i < board_.seeds(); ++i) {
      const std::optional<std::uint64_t> digest = board_.digest(i);
      if (!digest) {
        break;
      }
      result.digests.push_back(*digest);
    }
    return result;
  }

  const ExploreOptions& options_;
  Signals signals_;
  Board board_;
  std::vector<Worker> workers_;
};

}  // namespace

Exploration explore(const ExploreOptions& options, const DrawFunction& draw, const RunFunction& run) {
  Crew crew(options, draw, run);
  return crew.watch();
}

}  // namespace baton::chaos
