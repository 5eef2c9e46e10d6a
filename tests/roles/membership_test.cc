// Who lives, who is gone: tables over heartbeats and time.
#include "roles/membership.h"

#include <doctest/doctest.h>

#include "roles/peer_watch.h"
#include "runtime/scope.h"
#include "runtime/sleep.h"
#include "sim/sim_context.h"
#include "tests/support/pick.h"
#include "tests/support/recording_link.h"
#include "tests/support/run.h"

using namespace baton;

namespace {

constexpr RankId kDecode0{Role::decode, 0};
constexpr RankId kDecode1{Role::decode, 1};

PeerId life(RankId rank, std::uint64_t instance) {
  return {rank, {instance, instance}};
}

TimePoint at(int milliseconds) {
  return TimePoint{} + Duration(std::chrono::milliseconds(milliseconds));
}

Membership watched() {
  return Membership({life(kDecode0, 1), life(kDecode1, 1)}, {std::chrono::milliseconds(10), 3});
}

}  // namespace

TEST_CASE("Membership: without heartbeats the configured ranks are usable for ever") {
  Membership members({life(kDecode0, 1)}, {});
  CHECK(members.usable(kDecode0) == life(kDecode0, 1));
  CHECK_FALSE(members.heard(life(kDecode0, 2), at(0)).has_value());
  CHECK(members.expire(at(1'000'000)).empty());
  CHECK(members.next() == kNever);
  CHECK(members.usable(kDecode0) == life(kDecode0, 1));
  CHECK_FALSE(members.usable(kDecode1).has_value());
}

TEST_CASE("Membership: a rank is usable from its first heartbeat to three silent periods") {
  Membership members = watched();
  CHECK_FALSE(members.usable(kDecode0).has_value());
  CHECK(members.next() == kNever);
  CHECK_FALSE(members.heard(life(kDecode0, 5), at(7)).has_value());
  CHECK(members.usable(kDecode0) == life(kDecode0, 5));
  CHECK_FALSE(members.usable(kDecode1).has_value());
  CHECK(members.next() == at(37));
  CHECK(members.expire(at(36)).empty());
  CHECK_FALSE(members.heard(life(kDecode0, 5), at(36)).has_value());
  CHECK(members.expire(at(37)).empty());
  CHECK(members.expire(at(66)) == std::vector<PeerId>{life(kDecode0, 5)});
  CHECK(members.expire(at(67)).empty());
  CHECK_FALSE(members.usable(kDecode0).has_value());
  CHECK(members.gone().contains(life(kDecode0, 5)));
}

TEST_CASE("Membership: another instance replaces the one before, for good") {
  Membership members = watched();
  members.heard(life(kDecode0, 1), at(0));
  CHECK(members.heard(life(kDecode0, 2), at(1)) == life(kDecode0, 1));
  CHECK(members.usable(kDecode0) == life(kDecode0, 2));
  CHECK_FALSE(members.heard(life(kDecode0, 1), at(2)).has_value());  // late, or not dead after all
  CHECK(members.usable(kDecode0) == life(kDecode0, 2));
  CHECK(members.next() == at(31));
  CHECK(members.gone().list() == std::vector<PeerId>{life(kDecode0, 1)});
}

TEST_CASE("Membership: whoever was given up stays so, however much it says") {
  Membership members = watched();
  members.heard(life(kDecode0, 1), at(0));
  members.expire(at(30));
  for (int time = 31; time < 60; ++time) {
    CHECK_FALSE(members.heard(life(kDecode0, 1), at(time)).has_value());
    CHECK_FALSE(members.usable(kDecode0).has_value());
  }
  CHECK_FALSE(members.heard(life(kDecode0, 2), at(60)).has_value());
  CHECK(members.usable(kDecode0) == life(kDecode0, 2));
}

TEST_CASE("Membership: ranks nobody configured are no members") {
  Membership members = watched();
  const RankId stranger{Role::prefill, 9};
  CHECK_FALSE(members.heard(life(stranger, 1), at(0)).has_value());
  CHECK_FALSE(members.usable(stranger).has_value());
  CHECK(members.next() == kNever);
}

TEST_CASE("Membership: a judge who slept gives everybody the whole time again") {
  Membership members = watched();
  members.heard(life(kDecode0, 1), at(0));
  members.heard(life(kDecode1, 1), at(5));
  CHECK(members.expire(at(41)).empty());
  CHECK(members.next() == at(71));
  CHECK(members.expire(at(71)).size() == 2);
}

TEST_CASE("Membership: the list of those gone is bounded and keeps the latest") {
  Membership members = watched();
  for (std::uint64_t instance = 1; instance <= 200; ++instance) {
    members.heard(life(kDecode0, instance), at(0));
  }
  CHECK(members.gone().list().size() == Membership::kGoneMax);
  CHECK(members.gone().list().back() == life(kDecode0, 199));
}

TEST_CASE("Membership: whatever is heard, nobody is usable and gone at once and a loss is reported once") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    test::Pick pick(seed);
    Membership members = watched();
    std::vector<PeerId> reported;
    int time = 0;
    for (int i = 0; i < 60; ++i) {
      time += static_cast<int>(pick(12));
      if (pick.chance(0.7)) {
        const auto replaced = members.heard(life(pick.chance(0.5) ? kDecode0 : kDecode1, 1 + pick(6)), at(time));
        if (replaced) {
          reported.push_back(*replaced);
        }
      } else {
        for (const PeerId& lost : members.expire(at(time))) {
          reported.push_back(lost);
        }
      }
      for (const RankId rank : {kDecode0, kDecode1}) {
        CHECK_FALSE((members.usable(rank) && members.gone().contains(*members.usable(rank))));
      }
    }
    CHECK(reported == members.gone().list());
  }
}

TEST_CASE("PeerWatch: every router hears at once and once a period") {
  SimContext context;
  test::RecordingLink link;
  PeerWatch watch(context, life(kDecode0, 1), link, {{std::chrono::milliseconds(10), 3}, 2});
  const auto script = [&]() -> Task<> {
    Scope scope(context, "script");
    TaskHandle beat = scope.spawn("beat", watch.beat());
    co_await pause(context, std::chrono::milliseconds(25));
    beat.cancel();
    co_await scope.join();
  };
  test::run(context, script());
  CHECK(link.heartbeats == 6);
  CHECK(link.routers[0] == RankId{Role::router, 0});
  CHECK(link.routers[1] == RankId{Role::router, 1});
}

TEST_CASE("PeerWatch: news are news once, and the supervisor of an expelled rank hears once") {
  SimContext context;
  test::RecordingLink link;
  std::vector<RankId> expelled;
  PeerWatch watch(context, life(kDecode0, 1), link, {{}, 1, [&](RankId rank) { expelled.push_back(rank); }});
  const PeersGone first({life(kDecode1, 1)});
  const PeersGone second({life(kDecode1, 1), life(kDecode0, 1), life(kDecode0, 7)});
  CHECK(watch.learn(first) == std::vector<PeerId>{life(kDecode1, 1)});
  CHECK(watch.learn(second) == std::vector<PeerId>{life(kDecode0, 7)});
  CHECK(watch.learn(second).empty());
  CHECK(expelled == std::vector<RankId>{kDecode0});
  CHECK(watch.gone(life(kDecode1, 1)));
  CHECK_FALSE(watch.gone(life(kDecode1, 2)));
}
