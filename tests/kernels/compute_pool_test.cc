#include "kernels/compute_pool.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/kernels/kernel_fixture.h"

namespace baton::kernels::test {

namespace {

// Counts who computes at the same time and remembers the most.
class Crowd {
 public:
  void enter() {
    const unsigned now = inside_.fetch_add(1) + 1;
    unsigned most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void leave() { inside_.fetch_sub(1); }
  unsigned most() const { return most_.load(); }

 private:
  std::atomic<unsigned> inside_{0};
  std::atomic<unsigned> most_{0};
};

}  // namespace

TEST_CASE("ComputePool: every chunk runs once, for any number of threads and chunks") {
  for (const unsigned threads : {1U, 2U, 4U}) {
    ComputePool pool(threads);
    CHECK(pool.threads() == threads);
    for (const unsigned chunks : {0U, 1U, 2U, 3U, 17U, 1000U}) {
      std::vector<std::atomic<int>> runs(chunks);
      on_lane(pool, [&](Lane& lane) { lane.parallel_for(chunks, [&](unsigned chunk) { ++runs[chunk]; }); });
      for (const auto& count : runs) {
        REQUIRE(count == 1);
      }
    }
  }
}

TEST_CASE("ComputePool: one operator sees what the one before it wrote") {
  ComputePool pool(4);
  std::vector<unsigned> values(64, 0);
  on_lane(pool, [&](Lane& lane) {
    for (unsigned round = 0; round < 2000; ++round) {
      lane.parallel_for(64, [&](unsigned chunk) {
        const unsigned neighbour = values[(chunk + 1) % 64];
        (void)neighbour;
      });
      lane.parallel_for(64, [&](unsigned chunk) { values[chunk] += 1; });
    }
  });
  for (const unsigned value : values) {
    REQUIRE(value == 2000);
  }
}

TEST_CASE("ComputePool: an exception of a chunk ends the operator, reaches done, and the pool goes on") {
  for (const unsigned threads : {1U, 3U}) {
    ComputePool pool(threads);
    const auto failing = [](Lane& lane) {
      lane.parallel_for(50, [](unsigned chunk) {
        if (chunk == 7) {
          throw std::runtime_error("chunk 7");
        }
      });
    };
    CHECK_THROWS_WITH_AS(on_lane(pool, failing), "chunk 7", std::runtime_error);
    CHECK_THROWS_AS(on_lane(pool, [](Lane&) { throw std::logic_error("no chunk"); }), std::logic_error);
    std::atomic<int> runs{0};
    on_lane(pool, [&](Lane& lane) { lane.parallel_for(50, [&](unsigned) { ++runs; }); });
    CHECK(runs == 50);
  }
}

TEST_CASE("ComputePool: never more threads compute than it has, whatever is submitted") {
  constexpr unsigned kSteps = 200;
  for (const unsigned threads : {1U, 2U, 3U}) {
    ComputePool pool(threads);
    Crowd crowd;
    std::atomic<unsigned> done{0};
    const auto step = [&](Lane& lane) {
      for (int op = 0; op < 5; ++op) {
        lane.parallel_for(6, [&](unsigned) {
          crowd.enter();
          std::this_thread::yield();
          crowd.leave();
        });
        lane.checkpoint();
      }
    };
    std::vector<std::thread> submitters;
    for (unsigned s = 0; s < 4; ++s) {
      submitters.emplace_back([&, s] {
        for (unsigned i = 0; i < kSteps; ++i) {
          pool.submit((i + s) % 3 == 0 ? Priority::prefill : Priority::decode, step,
                      [&](std::exception_ptr) { done.fetch_add(1); });
        }
      });
    }
    for (auto& submitter : submitters) {
      submitter.join();
    }
    while (done.load() != 4 * kSteps) {
      std::this_thread::yield();
    }
    CHECK(crowd.most() <= threads);
  }
}

TEST_CASE("ComputePool: a decode step runs inside a prefill step at its next checkpoint") {
  ComputePool pool(1);
  pool.set_prefill_share(0);
  std::string order;
  std::promise<void> decode_done;
  on_lane(
      pool,
      [&](Lane& lane) {
        order += "p";
        pool.submit(
            Priority::decode,
            [&](Lane& nested) {
              nested.parallel_for(2, [&](unsigned) { order += "d"; });
              nested.checkpoint();  // decode steps never nest: the other one waits for the prefill's next checkpoint
              order += "D";
            },
            [&](std::exception_ptr) { order += "."; });
        pool.submit(
            Priority::decode, [&](Lane&) { order += "e"; }, [&](std::exception_ptr) { decode_done.set_value(); });
        pool.submit(Priority::prefill, [](Lane&) {}, [](std::exception_ptr) {});
        order += "q";
        lane.checkpoint();
        order += "r";
        lane.checkpoint();
        order += "s";
        lane.checkpoint();  // only another prefill waits now: it must not nest
        order += "t";
      },
      Priority::prefill);
  decode_done.get_future().get();
  CHECK(order == "pqddD.rest");
}

TEST_CASE("ComputePool: prefill gets its share before the next decode step, and decode all of it afterwards") {
  ComputePool pool(1);
  pool.set_prefill_share(1e9);  // longer than any test: only the first decode step may cut in
  std::string order;
  std::promise<void> decode_done;
  on_lane(
      pool,
      [&](Lane& lane) {
        pool.submit(Priority::decode, [&](Lane&) { order += "d"; }, [](std::exception_ptr) {});
        pool.submit(
            Priority::decode, [&](Lane&) { order += "e"; }, [&](std::exception_ptr) { decode_done.set_value(); });
        for (const char* step : {"1", "2", "3"}) {
          lane.checkpoint();
          order += step;
        }
      },
      Priority::prefill);
  decode_done.get_future().get();
  CHECK(order == "d123e");
}

TEST_CASE("ComputePool: a nested step has scratch memory of its own") {
  ComputePool pool(1);
  on_lane(
      pool,
      [&](Lane& lane) {
        std::byte* mine = lane.scratch(64);
        mine[0] = std::byte{1};
        std::promise<void> nested_done;
        pool.submit(
            Priority::decode, [&](Lane& nested) { nested.scratch(64)[0] = std::byte{2}; },
            [&](std::exception_ptr) { nested_done.set_value(); });
        lane.checkpoint();
        nested_done.get_future().get();
        CHECK(mine[0] == std::byte{1});
      },
      Priority::prefill);
}

TEST_CASE("ComputePool: waiting decode steps start before waiting prefill steps") {
  ComputePool pool(1);
  pool.set_prefill_share(0);
  std::string order;
  std::promise<void> all;
  on_lane(pool, [&](Lane&) {
    pool.submit(Priority::prefill, [&](Lane&) { order += "p"; }, [&](std::exception_ptr) { all.set_value(); });
    pool.submit(Priority::decode, [&](Lane&) { order += "d"; }, [](std::exception_ptr) {});
    pool.submit(Priority::decode, [&](Lane&) { order += "e"; }, [](std::exception_ptr) {});
  });
  all.get_future().get();
  CHECK(order == "dep");
}

TEST_CASE("ComputePool: its end waits for what was submitted") {
  std::atomic<int> done{0};
  {
    ComputePool pool(2);
    for (int i = 0; i < 50; ++i) {
      pool.submit(
          Priority::prefill, [](Lane& lane) { lane.parallel_for(3, [](unsigned) {}); },
          [&](std::exception_ptr) { ++done; });
    }
  }
  CHECK(done == 50);
}

TEST_CASE("ScratchScope: gives back what an operator took") {
  ComputePool pool(1);
  on_lane(pool, [](Lane& lane) {
    std::byte* first = nullptr;
    {
      const ScratchScope scope(lane);
      first = lane.scratch(1000);
    }
    CHECK(lane.scratch(1000) == first);
  });
}

}  // namespace baton::kernels::test
