// The fields of a script, once for the reader and the writer: what each is called, which type and range it has.
//
// A visitor has count, wide, flag, time, rate, traffic, fault, rank, keys, table and list; each takes the key, the
// field and, where not every value of its type is one, which are.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "sim/chaos/scenario.h"

namespace baton::chaos {

struct CountRange {
  std::uint64_t min = 0;
  std::uint64_t max = 1'000'000;
};

inline constexpr std::uint64_t kRanksOfRoleMax = 8;
inline constexpr std::size_t kClientsMax = 10'000;
inline constexpr std::size_t kTimedMax = 100;
inline constexpr std::size_t kScriptMax = 10'000;
inline constexpr Duration kTimeMax = std::chrono::hours(1);

inline constexpr std::array kTimedFaults{Fault::crash, Fault::freeze, Fault::partition, Fault::slow,
                                         Fault::step_failed};

// The faults that a message of a kind can have.
inline std::span<const Fault> faults_of(Traffic traffic) {
  static constexpr std::array kControl{Fault::control_lost, Fault::control_delayed, Fault::control_overtaken,
                                       Fault::control_duplicated};
  static constexpr std::array kNotice{Fault::notice_lost, Fault::notice_delayed, Fault::notice_overtaken,
                                      Fault::notice_duplicated, Fault::record_torn};
  static constexpr std::array kWrite{Fault::write_failed, Fault::write_late, Fault::write_torn, Fault::write_unheard};
  if (traffic == Traffic::write) {
    return kWrite;
  }
  if (traffic < Traffic::written) {
    return kControl;
  }
  return std::span(kNotice).first(traffic == Traffic::record ? kNotice.size() : kNotice.size() - 1);
}

template <class Visitor>
void visit_fields(Visitor& visitor, ClientPlan& client) {
  visitor.count("index", client.index, {0, 1'000'000});
  visitor.time("arrival", client.arrival);
  visitor.count("router", client.router, {0, kRanksOfRoleMax - 1});
  visitor.count("prompt_tokens", client.prompt_tokens, {1, 100'000});
  visitor.count("family", client.family, {0, 1'000'000});
  visitor.count("shared_tokens", client.shared_tokens, {0, 100'000});
  visitor.count("max_tokens", client.max_tokens, {1, 100'000});
  visitor.time("time_limit", client.time_limit);
  visitor.count("stop_after", client.stop_after, {1, 100'000});
  visitor.time("patience", client.patience);
  visitor.flag("vanishes", client.vanishes);
}

template <class Visitor>
void visit_fields(Visitor& visitor, TimedFault& timed) {
  visitor.fault("fault", timed.fault, kTimedFaults);
  visitor.rank("rank", timed.rank);
  if (timed.fault == Fault::partition) {
    visitor.rank("to", timed.to);
  }
  visitor.time("at", timed.at);
  visitor.time("length", timed.length);
}

template <class Visitor>
void visit_fields(Visitor& visitor, ScriptedFault& scripted) {
  visitor.traffic("traffic", scripted.traffic);
  visitor.count("request", scripted.request, {0, 1'000'000});
  visitor.count("nth", scripted.nth, {0, 1'000'000});
  visitor.fault("fault", scripted.fault, faults_of(scripted.traffic));
  visitor.time("delay", scripted.delay);
}

template <class Visitor>
void visit_fields(Visitor& visitor, MessageRates& rates) {
  visitor.rate("lost", rates.lost);
  visitor.rate("delayed", rates.delayed);
  visitor.rate("overtaken", rates.overtaken);
  visitor.rate("duplicated", rates.duplicated);
  visitor.rate("torn", rates.torn);
}

template <class Visitor>
void visit_fields(Visitor& visitor, WriteRates& rates) {
  visitor.rate("failed", rates.failed);
  visitor.rate("late", rates.late);
  visitor.rate("torn", rates.torn);
  visitor.rate("unheard", rates.unheard);
}

template <class Visitor>
void visit_fields(Visitor& visitor, Scenario& scenario) {
  visitor.wide("seed", scenario.seed);
  visitor.count("routers", scenario.routers, {1, kRanksOfRoleMax});
  visitor.count("prefill", scenario.prefill, {1, kRanksOfRoleMax});
  visitor.count("decode", scenario.decode, {1, kRanksOfRoleMax});
  visitor.flag("copying", scenario.copying);
  visitor.flag("aggregated", scenario.aggregated);
  visitor.flag("prefix_cache", scenario.prefix_cache);
  visitor.count("page_tokens", scenario.page_tokens, {1, 1024});
  visitor.count("decode_pages", scenario.decode_pages, {1, 100'000});
  visitor.count("prefill_pages", scenario.prefill_pages, {1, 100'000});
  visitor.count("chunk_tokens", scenario.chunk_tokens, {1, 100'000});
  visitor.count("running_max", scenario.running_max, {1, 4096});
  visitor.count("waiting_max", scenario.waiting_max, {1, 100'000});
  visitor.count("rooms_max", scenario.rooms_max, {1, 100'000});
  visitor.count("open_max", scenario.open_max, {1, 100'000});
  visitor.count("lookahead_tokens", scenario.lookahead_tokens, {0, 100'000});
  visitor.count("retract_every", scenario.retract_every, {0, 1'000'000});
  visitor.flag("recompute", scenario.recompute);
  visitor.flag("latest_first", scenario.latest_first);
  visitor.flag("plan_ahead", scenario.plan_ahead);
  visitor.time("heartbeat", scenario.heartbeat);
  visitor.time("latency", scenario.latency);
  visitor.time("delay_max", scenario.delay_max);
  visitor.table("control", scenario.control);
  visitor.table("notice", scenario.notice);
  visitor.table("write", scenario.write);
  visitor.keys("only", scenario.only);
  visitor.list("timed", scenario.timed, kTimedMax);
  visitor.list("script", scenario.script, kScriptMax);
  visitor.list("clients", scenario.clients, kClientsMax);
}

}  // namespace baton::chaos
