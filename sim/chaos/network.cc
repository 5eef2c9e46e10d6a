#include "sim/chaos/network.h"

#include <algorithm>
#include <functional>

#include "runtime/random.h"

namespace baton::chaos {
namespace {

double unit(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

Duration share(Duration whole, double part) noexcept {
  return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * part));
}

bool is_notice(Traffic traffic) noexcept {
  return traffic >= Traffic::written;
}

}  // namespace

Network::Network(SimContext& context, const Scenario& scenario, Chronicle& chronicle)
    : context_(context), scenario_(scenario), chronicle_(chronicle), changed_(context, "messages under way") {
  for (auto& row : last_due_) {
    row.fill(TimePoint(Duration(-1)));
  }
}

Task<> Network::run() {
  for (;;) {
    while (!due_.empty() && due_.front().time <= context_.now()) {
      std::ranges::pop_heap(due_, std::less<>{});
      const Action action = std::move(due_.back().action);
      due_.pop_back();
      action();
    }
    co_await changed_.wait_until(due_.empty() ? kNever : due_.front().time);
  }
}

void Network::send(RankId from, RankId to, Traffic traffic, RoomId room, Action deliver, Action deliver_torn) {
  if (is_dead(from)) {
    return;
  }
  chronicle_.sent(from, to, traffic, room);
  const Name name = next_name(from, to, traffic, room);
  const Fate fate = decide(name);
  if (fate.fault) {
    note(name, *fate.fault, from, to, room);
  }
  if (is_cut(from, to) || fate.fault == Fault::control_lost || fate.fault == Fault::notice_lost) {
    return;
  }
  const TimePoint now = context_.now();
  TimePoint& last = last_due_[index(from)][index(to)];
  const TimePoint direct = now + latency(from, to);
  if (fate.fault == Fault::control_overtaken || fate.fault == Fault::notice_overtaken) {
    return schedule(direct + fate.delay, std::move(deliver));
  }
  const bool delayed = fate.fault == Fault::control_delayed || fate.fault == Fault::notice_delayed;
  const TimePoint due = std::max(last, delayed ? direct + fate.delay : direct);
  if (fate.fault == Fault::control_duplicated || fate.fault == Fault::notice_duplicated) {
    schedule(due + fate.delay, deliver);
  }
  if (fate.fault == Fault::record_torn) {
    deliver = std::move(deliver_torn);
  }
  if (due == now && last < now) {
    return deliver();
  }
  last = due;
  schedule(due, std::move(deliver));
}

Fate Network::write_sets_out(RankId from, RankId to, RoomId room) {
  chronicle_.sent(from, to, Traffic::write, room);
  const Name name = next_name(from, to, Traffic::write, room);
  const Fate fate = decide(name);
  if (fate.fault) {
    note(name, *fate.fault, from, to, room);
  }
  return fate;
}

// Half of the scenario's latency to all of it, the same for every message of a way.
Duration Network::latency(RankId from, RankId to) const {
  const std::uint64_t way = fold(fold(scenario_.seed, index(from)), index(to));
  return share(scenario_.latency, 0.5 + unit(way) / 2);
}

void Network::at(TimePoint time, Action action) {
  schedule(time, std::move(action));
}

Network::Name Network::next_name(RankId from, RankId to, Traffic traffic, RoomId room) {
  Name name;
  name.request = chronicle_.request_of(room);
  name.traffic = traffic;
  const std::size_t row = name.request ? *name.request + 1 : 0;
  if (row >= counts_.size()) {
    counts_.resize(row + 1);
  }
  name.nth = counts_[row][static_cast<std::size_t>(traffic)]++;
  const std::uint64_t what = (row << 32) | (static_cast<std::uint64_t>(traffic) << 24) | name.nth;
  name.key = fold(fold(scenario_.seed, (index(from) << 8) | index(to)), what);
  return name;
}

// The script's word counts first.
Fate Network::decide(const Name& name) const {
  for (const ScriptedFault& scripted : scenario_.script) {
    if (scripted.traffic == name.traffic && scripted.request == name.request && scripted.nth == name.nth) {
      return {scripted.fault, scripted.delay};
    }
  }
  return draw(name.key, name.traffic);
}

Fate Network::draw(Key key, Traffic traffic) const {
  Fate fate;
  if (calm_) {
    return fate;
  }
  using Choice = std::pair<double, Fault>;
  const MessageRates& rates = is_notice(traffic) ? scenario_.notice : scenario_.control;
  std::array<Choice, 5> choices{};
  if (traffic == Traffic::write) {
    const WriteRates& write = scenario_.write;
    choices = {Choice{write.failed, Fault::write_failed}, Choice{write.late, Fault::write_late},
               Choice{write.torn, Fault::write_torn}, Choice{write.unheard, Fault::write_unheard}};
  } else if (is_notice(traffic)) {
    choices = {Choice{rates.lost, Fault::notice_lost}, Choice{rates.delayed, Fault::notice_delayed},
               Choice{rates.overtaken, Fault::notice_overtaken}, Choice{rates.duplicated, Fault::notice_duplicated},
               Choice{traffic == Traffic::record ? rates.torn : 0, Fault::record_torn}};
  } else {
    choices = {Choice{rates.lost, Fault::control_lost}, Choice{rates.delayed, Fault::control_delayed},
               Choice{rates.overtaken, Fault::control_overtaken}, Choice{rates.duplicated, Fault::control_duplicated}};
  }
  const double chosen = unit(fold(key, 1));
  double edge = 0;
  for (const auto& [rate, fault] : choices) {
    edge += rate;
    if (chosen < edge) {
      if (!allowed(key)) {
        break;
      }
      fate.fault = fault;
      fate.delay = std::max(Duration(1), share(scenario_.delay_max, unit(fold(key, 2))));
      break;
    }
  }
  return fate;
}

bool Network::allowed(Key key) const {
  return !scenario_.only || std::ranges::binary_search(*scenario_.only, key);
}

void Network::note(const Name& name, Fault fault, RankId from, RankId to, RoomId room) {
  chronicle_.injected({name.key, fault, context_.now(), name.request, from, to}, room);
}

void Network::schedule(TimePoint due, Action action) {
  due_.push_back({due, scheduled_++, std::move(action)});
  std::ranges::push_heap(due_, std::less<>{});
  changed_.notify();
}

}  // namespace baton::chaos
