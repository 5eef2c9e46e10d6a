#include "roles/policy/admission.h"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/pick.h"

using namespace baton::policy;

namespace {

AdmissionLimits limits(std::uint32_t lookahead = 32, std::uint32_t active_max = 64) {
  AdmissionLimits result;
  result.page_tokens = 16;
  result.lookahead_tokens = lookahead;
  result.active_max = active_max;
  return result;
}

// A decode rank's bookkeeping at the level of counts: what the policies see, and what they lead to.
struct World {
  struct Request {
    std::uint32_t tokens, tokens_max, pages;
  };
  AdmissionLimits limits_;
  std::uint32_t capacity, free;
  std::vector<WaitingRequest> waiting;
  std::vector<Request> active, retracted;

  static std::vector<ActiveRequest> view(const std::vector<Request>& requests) {
    std::vector<ActiveRequest> result;
    for (const Request& r : requests) {
      result.push_back({r.tokens, r.tokens_max, r.pages});
    }
    return result;
  }

  bool take(std::uint32_t pages) {
    if (pages > free) {
      return false;
    }
    free -= pages;
    return true;
  }
};

}  // namespace

TEST_CASE("Admission: a retracted request comes back when the pages fit that it does not share") {
  const std::vector<ActiveRequest> active{{1700, 1700, 107}};
  ActiveRequest retracted{1680, 1680};
  CHECK(resume({&retracted, 1}, active, 20, {}) == 0);
  retracted.pages_shared = 100;
  CHECK(resume({&retracted, 1}, active, 20, {}) == 1);
  CHECK(resume({&retracted, 1}, active, 4, {}) == 0);
}

TEST_CASE("Admission: a step is full when prompts and single rows make up its budget, and never without a prompt") {
  CHECK_FALSE(step_is_full(0, 300, 256));
  CHECK_FALSE(step_is_full(200, 55, 256));
  CHECK(step_is_full(200, 56, 256));
  CHECK(step_is_full(1, 300, 256));
}

TEST_CASE("Admission: a request that fits an empty pool is admitted when nothing else is active") {
  const std::vector<WaitingRequest> waiting{{160, 160 + 1000}};
  // Ten pages of prompt and one more token need eleven; the lookahead alone would ask for twelve.
  CHECK(admit(waiting, {}, {}, 11, limits()) == 1);
  CHECK(admit(waiting, {}, {}, 10, limits()) == 0);
}

TEST_CASE("Admission: the growth of active requests is set aside before anyone new comes in") {
  const std::vector<ActiveRequest> active{{64, 1000, 4}};  // expects 96 tokens: six pages, two more
  const std::vector<WaitingRequest> waiting{{32, 64}};     // expects four pages
  CHECK(admit(waiting, active, {}, 6, limits()) == 1);
  CHECK(admit(waiting, active, {}, 5, limits()) == 0);
}

TEST_CASE("Admission: a request near its limit reserves no more than it may produce") {
  CHECK(expected_pages(64, 65, limits(512)) == 5);
  CHECK(expected_pages(64, 64 + 512, limits(512)) == 36);
  CHECK(expected_pages(64, 10'000, limits(512)) == 36);
}

TEST_CASE("Admission: the queue is served in order and stops at the first that does not fit") {
  const std::vector<ActiveRequest> active{{16, 17, 2}};
  const std::vector<WaitingRequest> waiting{{16, 32}, {1600, 1700}, {16, 32}};
  CHECK(admit(waiting, active, {}, 50, limits()) == 1);
}

TEST_CASE("Admission: nobody new while a retracted request waits for its pages") {
  const std::vector<ActiveRequest> retracted{{100, 200, 0}};
  const std::vector<WaitingRequest> waiting{{16, 32}};
  CHECK(admit(waiting, {}, retracted, 100, limits()) == 0);
}

TEST_CASE("Admission: the number of active requests is bounded") {
  const std::vector<ActiveRequest> active(3, ActiveRequest{16, 20, 2});
  const std::vector<WaitingRequest> waiting(5, WaitingRequest{16, 32});
  CHECK(admit(waiting, active, {}, 1000, limits(32, 4)) == 1);
  CHECK(admit(waiting, active, {}, 1000, limits(32, 3)) == 0);
}

TEST_CASE("Admission: fits_empty_pool is the page arithmetic of the request's limit") {
  CHECK(fits_empty_pool({100, 160}, 10, 16));
  CHECK_FALSE(fits_empty_pool({100, 161}, 10, 16));
}

// Every request of a random load is served in the end, whatever the pool, lookahead and output lengths: admission,
// growth, retraction and resumption together never come to a stop. This is invariant 7 at the level of arithmetic.
TEST_CASE("Admission: random loads never come to a stop and everybody is served") {
  baton::test::Pick random(11);
  for (int round = 0; round < 300; ++round) {
    World world;
    world.limits_ = limits(random(200), 1 + random(8));
    world.capacity = world.free = 2 + random(60);
    const std::uint32_t count = 1 + random(20);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t prompt = 1 + random(300);
      const WaitingRequest request{prompt, prompt + 1 + random(300)};
      if (fits_empty_pool(request, world.capacity, 16)) {
        world.waiting.push_back(request);
      }
    }
    std::size_t left = world.waiting.size();
    for (int step = 0; left > 0; ++step) {
      REQUIRE(step < 100'000);

      std::size_t back = resume(World::view(world.retracted), World::view(world.active), world.free, world.limits_);
      while (back-- > 0) {
        World::Request request = world.retracted.front();
        world.retracted.erase(world.retracted.begin());
        request.pages = pages_for(request.tokens, 16);
        REQUIRE(world.take(request.pages));
        world.active.push_back(request);
      }
      std::size_t in =
          admit(world.waiting, World::view(world.active), World::view(world.retracted), world.free, world.limits_);
      while (in-- > 0) {
        const WaitingRequest request = world.waiting.front();
        world.waiting.erase(world.waiting.begin());
        const std::uint32_t pages = pages_for(request.tokens, 16);
        REQUIRE(world.take(pages));
        world.active.push_back({request.tokens, request.tokens_max, pages});
      }
      REQUIRE_FALSE(world.active.empty());
      for (std::size_t i = 0; i < world.active.size();) {
        World::Request& request = world.active[i];
        const std::uint32_t want = pages_for(request.tokens + 1, 16) - request.pages;
        if (!world.take(want)) {
          if (world.active.size() > 1) {  // the youngest gives way
            World::Request victim = world.active.back();
            world.active.pop_back();
            world.free += victim.pages;
            victim.pages = 0;
            world.retracted.push_back(victim);
            continue;
          }
          REQUIRE(world.take(want));
        }
        request.pages += want;
        ++request.tokens;
        if (request.tokens == request.tokens_max) {
          world.free += request.pages;
          world.active.erase(world.active.begin() + static_cast<std::ptrdiff_t>(i));
          --left;
        } else {
          ++i;
        }
      }
    }
    CHECK(world.free == world.capacity);
  }
}
