#include "sim/chaos/unreachable.h"

#include <algorithm>
#include <array>
#include <span>

#include "roles/room_event.h"

namespace baton::chaos {
namespace {

namespace ev = room_event;

using Words = std::span<const std::string_view>;

// All pairs of these states and events; no states: all of the machine.
struct Rule {
  std::string_view machine;
  Words states;
  Words events;
  const char* reason;
};

constexpr std::array<std::string_view, 2> kNoRoom{"unknown", "tombstone"};
constexpr std::array<std::string_view, 1> kUnknown{"unknown"};
constexpr std::array<std::string_view, 2> kNoLanding{"early landing", "bootstrap"};
constexpr std::array<std::string_view, 1> kEarly{"early landing"};
constexpr std::array<std::string_view, 1> kWaiting{"waiting"};
constexpr std::array<std::string_view, 1> kInflight{"inflight"};
constexpr std::array<std::string_view, 1> kFailing{"failing"};
constexpr std::array<std::string_view, 1> kPrealloc{"prealloc"};
constexpr std::array<std::string_view, 1> kTransfer{"transfer"};
constexpr std::array<std::string_view, 1> kReady{"ready"};
constexpr std::array<std::string_view, 1> kRunning{"running"};
constexpr std::array<std::string_view, 1> kRetracted{"retracted"};
constexpr std::array<std::string_view, 4> kHasPages{"transfer", "ready", "running", "retracted"};
constexpr std::array<std::string_view, 3> kAfterVerdict{"ready", "running", "retracted"};

constexpr std::array<std::string_view, 1> kLegFailed{ev::kLegFailed};
constexpr std::array<std::string_view, 1> kLanding{ev::kLanding};
constexpr std::array<std::string_view, 1> kStop{ev::kStop};
constexpr std::array<std::string_view, 1> kPushed{ev::kPushed};
constexpr std::array<std::string_view, 1> kAdmitted{ev::kAdmitted};
constexpr std::array<std::string_view, 1> kRetract{ev::kRetract};
constexpr std::array<std::string_view, 1> kResume{ev::kResume};
constexpr std::array<std::string_view, 2> kAnswers{ev::kAnswered, ev::kUnanswered};
constexpr std::array<std::string_view, 3> kPrefillSteps{ev::kStepDone, ev::kLastChunk, ev::kStepFailed};
constexpr std::array<std::string_view, 7> kPrefillWork{ev::kStepDone,   ev::kLastChunk, ev::kStepFailed, ev::kPushed,
                                                       ev::kPushFailed, ev::kAnswered,  ev::kUnanswered};
constexpr std::array<std::string_view, 2> kVerdicts{ev::kVerdictOk, ev::kVerdictFailed};
constexpr std::array<std::string_view, 4> kTokens{ev::kStepDone, ev::kStepFailed, ev::kToken, ev::kLastToken};
constexpr std::array<std::string_view, 2> kOnlyTokens{ev::kToken, ev::kLastToken};
constexpr std::array<std::string_view, 2> kOnlySteps{ev::kStepDone, ev::kStepFailed};
constexpr std::array<std::string_view, 9> kDecodeWork{ev::kAdmitted,  ev::kVerdictOk,  ev::kVerdictFailed,
                                                      ev::kStepDone,  ev::kStepFailed, ev::kToken,
                                                      ev::kLastToken, ev::kRetract,    ev::kResume};
constexpr std::array<std::string_view, 3> kToTheRoom{ev::kDeadline, ev::kPeerGone, ev::kStop};
constexpr std::array<std::string_view, 3> kRouterToTheRoom{ev::kAbandoned, ev::kDeadline, ev::kPeerGone};

const std::array kRules{
    Rule{"prefill", {}, kLegFailed, "nobody tells prefill that a leg has failed: decode and routers cancel the room"},
    Rule{"prefill", kNoRoom, kPrefillWork, "there is no room"},
    Rule{"prefill", kNoRoom, kToTheRoom, "there is no room"},
    Rule{"prefill", kNoLanding, kPrefillWork, "nothing is computed or sent before both job and landing are there"},
    Rule{"prefill", kEarly, kStop, "prefill stops when decode has ended, and decode waits for its landings"},
    Rule{"prefill", kWaiting, kStop, "prefill stops when decode has ended, and decode waits for its landings"},
    Rule{"prefill", kWaiting, kAnswers, "the record is sent after the last chunk"},
    Rule{"prefill", kInflight, kPrefillSteps, "its prompt is computed"},
    Rule{"prefill", kFailing, kPushed, "what is pushed for a failed room counts as failed"},
    Rule{"decode", {}, kLanding, "nobody sends decode a landing: it makes them"},
    Rule{"decode", kNoRoom, kDecodeWork, "there is no room"},
    Rule{"decode", kNoRoom, kToTheRoom, "there is no room"},
    Rule{"decode", kPrealloc, kVerdicts, "it has no pages yet"},
    Rule{"decode", kPrealloc, kTokens, "it has no pages yet"},
    Rule{"decode", kPrealloc, kRetract, "it has no pages yet"},
    Rule{"decode", kPrealloc, kResume, "it has no pages yet"},
    Rule{"decode", kTransfer, kTokens, "it has no verdict yet"},
    Rule{"decode", kTransfer, kRetract, "its pages are being written"},
    Rule{"decode", kTransfer, kResume, "its pages are being written"},
    Rule{"decode", kHasPages, kAdmitted, "it was admitted before"},
    Rule{"decode", kAfterVerdict, kVerdicts, "it had its verdict before"},
    Rule{"decode", kReady, kOnlySteps, "it joins the batch before it takes a step"},
    Rule{"decode", kReady, kResume, "it has its pages"},
    Rule{"decode", kRunning, kResume, "it has its pages"},
    Rule{"decode", kRetracted, kTokens, "it has no pages"},
    Rule{"decode", kRetracted, kRetract, "it has no pages"},
    Rule{"decode", kFailing, kAdmitted, "a room that fails before it has pages is closed at once"},
    Rule{"decode", kFailing, kOnlyTokens, "a failed room takes no token"},
    Rule{"router", kUnknown, kRouterToTheRoom, "there is no room"},
};

bool has(Words words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

const char* why_unreachable(std::string_view machine, std::string_view state, std::string_view event) {
  for (const Rule& rule : kRules) {
    if (rule.machine == machine && (rule.states.empty() || has(rule.states, state)) && has(rule.events, event)) {
      return rule.reason;
    }
  }
  return nullptr;
}

}  // namespace baton::chaos
