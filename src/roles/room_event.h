// What can happen to a room, and the states it can happen in: the words in which ranks and routers keep their history.
//
// Each event is recorded with the room as id and, in `a`, the index of the state that the room was in just before. So
// one can count which pairs of state and event a set of runs has reached.
#pragma once

#include <array>
#include <cstdint>

namespace baton::room_event {

inline constexpr const char* kJob = "on job";
inline constexpr const char* kLanding = "on landing";
inline constexpr const char* kCancel = "on cancel";
inline constexpr const char* kLegFailed = "on leg failed";
inline constexpr const char* kDeadline = "on deadline";
inline constexpr const char* kPeerGone = "on peer gone";
inline constexpr const char* kStop = "on stop";
inline constexpr const char* kStepDone = "on step done";
inline constexpr const char* kStepFailed = "on step failed";

inline constexpr const char* kLastChunk = "on last chunk";  // a step that ended the prompt
inline constexpr const char* kPushed = "on pushed";
inline constexpr const char* kPushFailed = "on push failed";
inline constexpr const char* kAnswered = "on answered";  // the target has counted everything
inline constexpr const char* kUnanswered = "on unanswered";

inline constexpr const char* kAdmitted = "on admitted";
inline constexpr const char* kVerdictOk = "on verdict ok";
inline constexpr const char* kVerdictFailed = "on verdict failed";
inline constexpr const char* kToken = "on token";
inline constexpr const char* kLastToken = "on last token";
inline constexpr const char* kRetract = "on retract";
inline constexpr const char* kResume = "on resume";

inline constexpr const char* kEvents = "on events";  // a router's; one for each event of the room that comes
inline constexpr const char* kPrefillDone = "on prefill done";
inline constexpr const char* kAbandoned = "on abandoned";

// A room that is failing has its cause and waits until whoever uses it lets go.
enum class PrefillState : std::uint8_t { unknown, tombstone, early_landing, bootstrap, waiting, inflight, failing };
enum class DecodeState : std::uint8_t { unknown, tombstone, prealloc, transfer, ready, running, retracted, failing };
enum class RouterState : std::uint8_t { unknown, open, handed_over };

inline constexpr std::array kPrefillStates = {"unknown", "tombstone", "early landing", "bootstrap",
                                              "waiting", "inflight",  "failing"};
inline constexpr std::array kDecodeStates = {"unknown", "tombstone", "prealloc",  "transfer",
                                             "ready",   "running",   "retracted", "failing"};
inline constexpr std::array kRouterStates = {"unknown", "open", "handed over"};

inline constexpr std::array kPrefillEvents = {kJob,      kLanding,    kCancel,   kLegFailed, kDeadline,
                                              kPeerGone, kStop,       kStepDone, kLastChunk, kStepFailed,
                                              kPushed,   kPushFailed, kAnswered, kUnanswered};
inline constexpr std::array kDecodeEvents = {kJob,   kLanding,   kCancel,    kLegFailed,     kDeadline, kPeerGone,
                                             kStop,  kAdmitted,  kVerdictOk, kVerdictFailed, kStepDone, kStepFailed,
                                             kToken, kLastToken, kRetract,   kResume};
inline constexpr std::array kRouterEvents = {kEvents, kLegFailed, kPrefillDone, kAbandoned, kDeadline, kPeerGone};

}  // namespace baton::room_event
