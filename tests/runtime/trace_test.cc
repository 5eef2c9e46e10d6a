#include "runtime/trace.h"

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

namespace baton {
namespace {

TimePoint at(std::int64_t nanoseconds) {
  return TimePoint(Duration(nanoseconds));
}

constexpr RankId kPrefill{Role::prefill, 0};
constexpr RankId kDecode{Role::decode, 1};

}  // namespace

TEST_CASE("EventTrace: keeps the newest events in order and counts the overwritten") {
  EventTrace trace(3);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    trace.record(at(static_cast<std::int64_t>(i)), kPrefill, "step", i);
  }
  std::vector<std::uint64_t> ids;
  for (const TraceEvent& event : trace.events()) {
    ids.push_back(event.id);
  }
  CHECK(ids == std::vector<std::uint64_t>{3, 4, 5});
  CHECK(trace.overwritten() == 2);
  trace.clear();
  CHECK(trace.size() == 0);
  CHECK(trace.events().empty());
}

TEST_CASE("EventTrace: records nothing when off or without capacity") {
  EventTrace off(8);
  off.enable(false);
  off.record(at(1), kPrefill, "step");
  CHECK(off.size() == 0);
  EventTrace none(0);
  none.record(at(1), kPrefill, "step");
  CHECK(none.size() == 0);
  CHECK_FALSE(none.enabled());
}

TEST_CASE("EventTrace: the text has one exact line an event") {
  EventTrace trace(8);
  trace.begin(at(1'500'000'001), kPrefill, "prefill", 0xab, 128);
  trace.end(at(1'500'000'002), kPrefill, "prefill", 0xab);
  trace.record(at(0), kDecode, "admit", 1, 2, 3);
  CHECK(trace_text(trace.events()) ==
        "1.500000001 prefill/0 b prefill 00000000000000ab 128 0\n"
        "1.500000002 prefill/0 e prefill 00000000000000ab 0 0\n"
        "0.000000000 decode/1 i admit 0000000000000001 2 3\n");
}

TEST_CASE("EventTrace: the JSON parses, names ranks as threads and keeps nanoseconds") {
  EventTrace first(8);
  EventTrace second(8);
  first.begin(at(2'000'001), kPrefill, "pre\"fill", 7);
  first.end(at(2'000'003), kPrefill, "pre\"fill", 7);
  second.record(at(2'000'002), kDecode, "admit", UINT64_MAX, UINT64_MAX);
  const std::string text = trace_json(merge_traces({&first, &second}));
  const boost::json::value json = boost::json::parse(text);
  const auto& events = json.at("traceEvents").as_array();
  REQUIRE(events.size() == 5);
  CHECK(events[0].at("args").at("name") == "prefill/0");
  CHECK(events[1].at("args").at("name") == "decode/1");
  CHECK(events[2].at("name") == "pre\"fill");
  CHECK(events[2].at("ph") == "b");
  CHECK(events[2].at("id") == "0x7");
  CHECK(events[2].at("cat") == "prefill/0");  // every rank counts its spans for itself
  CHECK(events[3].at("ph") == "i");
  CHECK(events[3].at("tid") == 1);
  CHECK(events[3].at("ts").as_double() == doctest::Approx(2000.002));
  CHECK(events[3].at("args").at("id") == "ffffffffffffffff");
  CHECK(events[4].at("ph") == "e");
  CHECK(boost::json::parse(trace_json({})).at("traceEvents").as_array().empty());
}

TEST_CASE("merge_traces: events of one instant stay in the order of the inputs") {
  EventTrace first(8);
  EventTrace second(8);
  first.record(at(1), kPrefill, "a");
  first.record(at(2), kPrefill, "c");
  second.record(at(1), kDecode, "b");
  std::string order;
  for (const TraceEvent& event : merge_traces({&first, &second})) {
    order += event.name;
  }
  CHECK(order == "abc");
}

}  // namespace baton
