#include "sim/chaos/profile.h"

#include <algorithm>

#include "runtime/random.h"

namespace baton::chaos {
namespace {

constexpr std::uint32_t kClients = 30;
constexpr std::int64_t kSpanUs = 40'000;                     // in which requests arrive and faults begin
constexpr Duration kStartUp = std::chrono::milliseconds(1);  // until every rank has been heard of

// Draws for one purpose; a stream of its own a purpose, so that a change in one leaves the others' draws alone.
class Draw final {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : random_(Random(seed).fork(stream)) {}

  bool chance(double probability) { return random_.chance(probability); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_.uniform(std::uint64_t{high} - low + 1));
  }
  // Many small numbers and a few large ones.
  std::uint32_t skewed(std::uint32_t low, std::uint32_t high) {
    const double unit = random_.unit();
    return low + static_cast<std::uint32_t>(unit * unit * unit * (high - low + 1));
  }
  Duration within(std::int64_t microseconds) {
    return std::chrono::microseconds(1 + static_cast<std::int64_t>(random_.unit() * static_cast<double>(microseconds)));
  }
  double rate(double most) { return random_.unit() * random_.unit() * most; }

 private:
  Random random_;
};

enum Stream : std::uint64_t {
  kNode = 1,
  kClient,
  kMessage,
  kWrite,
  kTimed,
  kScarce,
  kPatience,
  kFront,
  kPrefix,
  kWays
};

void draw_node(const Profile& profile, Scenario& scenario) {
  Draw draw(scenario.seed, kNode);
  scenario.routers = draw.chance(0.2) ? 2 : 1;
  if (draw.chance(profile.shared)) {
    scenario.copying = false;
    scenario.aggregated = draw.chance(0.3);
  }
  constexpr std::array<std::uint32_t, 3> kPages{1, 4, 16};
  scenario.page_tokens = kPages[draw.between(0, 2)];
  scenario.decode_pages = draw.between(200, 400) / scenario.page_tokens;
  scenario.prefill_pages = draw.between(160, 300) / scenario.page_tokens;
  scenario.chunk_tokens = draw.between(8, 48);
  scenario.running_max = draw.between(2, 24);
  scenario.lookahead_tokens = draw.between(0, 16);
  scenario.latency = draw.chance(0.5) ? draw.within(200) : Duration{0};
  scenario.heartbeat = draw.chance(0.7) ? Duration(std::chrono::milliseconds(draw.between(10, 40))) : Duration{0};
}

void draw_clients(Scenario& scenario) {
  Draw draw(scenario.seed, kClient);
  for (std::uint32_t i = 0; i < kClients; ++i) {
    ClientPlan client;
    client.index = i;
    client.arrival = kStartUp + draw.within(kSpanUs);
    client.router = draw.between(0, scenario.routers - 1);
    client.prompt_tokens = draw.skewed(1, 90);
    client.max_tokens = draw.skewed(1, 24);
    const std::uint32_t usual = draw.chance(0.3) ? (draw.chance(0.3) ? 60'000 : 2'000) : draw.between(100, 400);
    client.time_limit = std::chrono::milliseconds(draw.chance(0.1) ? draw.between(2, 30) : usual);
    if (draw.chance(0.2)) {
      client.stop_after = draw.between(1, client.max_tokens);
    }
    scenario.clients.push_back(client);
  }
}

void draw_patience(const Profile& profile, Scenario& scenario) {
  Draw draw(scenario.seed, kPatience);
  const double share = draw.chance(profile.impatience) ? draw.rate(1) : 0;
  for (ClientPlan& client : scenario.clients) {
    const Duration patience = draw.within(draw.chance(0.5) ? 3'000 : 60'000);
    const bool vanishes = draw.chance(0.4);
    if (draw.chance(share)) {
      client.patience = patience;
      client.vanishes = vanishes;
    }
  }
}

void draw_scarcity(const Profile& profile, Scenario& scenario) {
  Draw draw(scenario.seed, kScarce);
  if (!draw.chance(profile.scarcity)) {
    return;
  }
  const std::uint32_t longest = 60 / scenario.page_tokens + 1;
  scenario.decode_pages = draw.chance(0.6) ? draw.between(longest / 2 + 1, 2 * longest + 4) : scenario.decode_pages;
  scenario.prefill_pages = draw.chance(0.4) ? draw.between(longest / 2 + 1, 2 * longest + 4) : scenario.prefill_pages;
  scenario.waiting_max = draw.chance(0.4) ? draw.between(1, 6) : scenario.waiting_max;
  scenario.rooms_max = draw.chance(0.4) ? draw.between(1, 8) : scenario.rooms_max;
  scenario.open_max = draw.chance(0.2) ? draw.between(4, 20) : scenario.open_max;
  scenario.running_max = draw.chance(0.3) ? 1 : scenario.running_max;
  scenario.lookahead_tokens = draw.chance(0.5) ? 0 : scenario.lookahead_tokens;
  scenario.retract_every = draw.chance(0.3) ? draw.between(1, 8) : 0;
}

void draw_message_faults(const Profile& profile, Scenario& scenario) {
  Draw draw(scenario.seed, kMessage);
  scenario.delay_max = draw.within(draw.chance(0.5) ? 1'000 : 20'000);
  for (MessageRates* rates : {&scenario.control, &scenario.notice}) {
    if (!draw.chance(profile.messages)) {
      continue;
    }
    rates->lost = draw.chance(0.5) ? draw.rate(0.3) : 0;
    rates->delayed = draw.chance(0.5) ? draw.rate(0.5) : 0;
    rates->overtaken = draw.chance(0.5) ? draw.rate(0.5) : 0;
    rates->duplicated = draw.chance(0.5) ? draw.rate(0.5) : 0;
    rates->torn = draw.chance(0.3) ? draw.rate(0.3) : 0;
  }
  Draw write(scenario.seed, kWrite);
  if (write.chance(profile.writes)) {
    scenario.write.failed = write.chance(0.4) ? write.rate(0.3) : 0;
    scenario.write.late = write.chance(0.7) ? write.rate(1) : 0;
    scenario.write.torn = write.chance(0.4) ? write.rate(0.3) : 0;
    scenario.write.unheard = write.chance(0.4) ? write.rate(0.3) : 0;
  }
}

// Half of the worlds have a cache; there most prompts begin as some others do.
void draw_prefixes(Scenario& scenario) {
  Draw draw(scenario.seed, kPrefix);
  scenario.prefix_cache = draw.chance(0.5);
  const std::uint32_t families = draw.between(1, 5);
  for (ClientPlan& client : scenario.clients) {
    const std::uint32_t shared = draw.between(0, client.prompt_tokens);
    const std::uint32_t family = draw.between(0, families - 1);
    if (scenario.prefix_cache && draw.chance(0.7)) {
      client.shared_tokens = shared;
      client.family = family;
    }
  }
}

RankId any_rank(Draw& draw, const Scenario& scenario) {
  const std::uint32_t prefill = scenario.aggregated ? 0 : scenario.prefill;
  const std::uint32_t index = draw.between(0, prefill + scenario.decode - 1);
  if (index < prefill) {
    return {Role::prefill, index};
  }
  return {scenario.aggregated ? Role::aggregated : Role::decode, index - prefill};
}

void draw_timed_faults(const Profile& profile, Scenario& scenario) {
  Draw draw(scenario.seed, kTimed);
  const auto add = [&](Fault fault, Duration length) {
    TimedFault timed;
    timed.fault = fault;
    timed.rank = any_rank(draw, scenario);
    timed.at = draw.within(kSpanUs);
    timed.length = length;
    if (fault == Fault::partition) {
      timed.to =
          draw.chance(0.4) ? RankId{Role::router, draw.between(0, scenario.routers - 1)} : any_rank(draw, scenario);
      if (draw.chance(0.5)) {
        TimedFault back = timed;
        std::swap(back.rank, back.to);
        scenario.timed.push_back(back);
      }
    }
    scenario.timed.push_back(timed);
  };
  Draw front(scenario.seed, kFront);
  const bool front_freezes = front.chance(profile.crashes / 2);
  if (front_freezes) {
    TimedFault timed{Fault::freeze, {Role::router, 0}, {}, front.within(kSpanUs), {}};
    timed.length = front.within(front.chance(0.5) ? 10'000 : 200'000);
    scenario.timed.push_back(timed);
  }
  const bool alone = front_freezes && front.chance(0.5);
  // A dead rank is noticed by its missing heartbeats, and its memory can be fenced: not so inside of one process.
  if (scenario.copying && scenario.heartbeat > Duration{0} && draw.chance(profile.crashes) && !alone) {
    for (std::uint32_t i = draw.between(1, 3); i > 0; --i) {
      constexpr std::array<Fault, 3> kKinds{Fault::crash, Fault::freeze, Fault::partition};
      const Fault kind = kKinds[draw.between(0, 2)];  // arguments are evaluated in no fixed order
      add(kind, draw.within(draw.chance(0.5) ? 10'000 : 200'000));
    }
  }
  if (draw.chance(profile.slowness)) {
    for (std::uint32_t i = draw.between(1, 3); i > 0; --i) {
      const Fault kind = draw.chance(0.6) ? Fault::slow : Fault::step_failed;
      add(kind, draw.within(20'000));
    }
  }
}

bool leaves_out(const Profile& profile, Fault fault) {
  return std::ranges::find(profile.without, fault) != profile.without.end();
}

void leave_out(const Profile& profile, Scenario& scenario) {
  const auto zero = [&](Fault fault, double& rate) { rate = leaves_out(profile, fault) ? 0 : rate; };
  zero(Fault::control_lost, scenario.control.lost);
  zero(Fault::control_delayed, scenario.control.delayed);
  zero(Fault::control_overtaken, scenario.control.overtaken);
  zero(Fault::control_duplicated, scenario.control.duplicated);
  zero(Fault::notice_lost, scenario.notice.lost);
  zero(Fault::notice_delayed, scenario.notice.delayed);
  zero(Fault::notice_overtaken, scenario.notice.overtaken);
  zero(Fault::notice_duplicated, scenario.notice.duplicated);
  zero(Fault::record_torn, scenario.notice.torn);
  zero(Fault::write_failed, scenario.write.failed);
  zero(Fault::write_late, scenario.write.late);
  zero(Fault::write_torn, scenario.write.torn);
  zero(Fault::write_unheard, scenario.write.unheard);
  std::erase_if(scenario.timed, [&](const TimedFault& timed) { return leaves_out(profile, timed.fault); });
  for (ClientPlan& client : scenario.clients) {
    if (leaves_out(profile, client.vanishes ? Fault::client_vanished : Fault::client_abort)) {
      client.patience.reset();
    }
  }
}

// Other ways of a decode rank to retract and to plan.
void draw_ways(Scenario& scenario) {
  Draw draw(scenario.seed, kWays);
  scenario.recompute = draw.chance(0.4);
  scenario.latest_first = draw.chance(0.3);
  scenario.plan_ahead = draw.chance(0.4);
}

Profile make(const char* name, const char* what, double messages, double writes, double crashes, double slowness,
             double impatience, double scarcity, double shared) {
  return {name, what, messages, writes, crashes, slowness, impatience, scarcity, shared, {}};
}

}  // namespace

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles{
      make("calm", "no fault at all: every request must end well", 0, 0, 0, 0, 0, 0, 0.4),
      make("network", "control messages and notices are lost, delayed, overtaken, duplicated, torn", 1, 0, 0, 0, 0, 0,
           0.3),
      make("writes", "writes of pages fail, tear, come late or unheard", 0, 1, 0, 0, 0.3, 0, 0),
      make("crashes", "ranks die and return, freeze, lose each other; the front freezes", 0, 0.3, 1, 0, 0, 0, 0),
      make("clients", "clients give up at any moment", 0, 0.3, 0, 0, 1, 0.3, 0.3),
      make("scarcity", "pages, places and queues run out; steps are slow or fail", 0, 0, 0, 0.5, 0.3, 1, 0.3),
      make("all", "any mix of the above", 0.4, 0.4, 0.3, 0.2, 0.4, 0.3, 0.25)};
  return kProfiles;
}

std::optional<Profile> find_profile(std::string_view name) {
  for (const Profile& profile : profiles()) {
    if (name == profile.name) {
      return profile;
    }
  }
  return std::nullopt;
}

Scenario draw_scenario(const Profile& profile, std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  draw_node(profile, scenario);
  draw_clients(scenario);
  draw_patience(profile, scenario);
  draw_prefixes(scenario);
  draw_scarcity(profile, scenario);
  draw_message_faults(profile, scenario);
  draw_timed_faults(profile, scenario);
  leave_out(profile, scenario);
  draw_ways(scenario);
  return scenario;
}

}  // namespace baton::chaos
