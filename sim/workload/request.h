// What a trace says about one request, and where requests come from.
//
//   file --reader--> RequestSource --transforms--> RequestSource --peek, next--> simulated clients
//                                                        ^------finished-----------'
//
// A source is pulled one request at a time, so that a trace of a million requests needs memory for a few. Single
// thread: whoever pulls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/time.h"

namespace baton::sim {

struct TraceRequest {
  Duration arrival{};               // since the start of the trace
  std::uint32_t input_tokens = 0;   // at least 1
  std::uint32_t output_tokens = 0;  // 0: it failed or was turned away when the trace was taken

  // Equal ids mean equal tokens, block_tokens of them each, in order from the first token of the prompt; the last block
  // may be partial. See page_keys.h.
  std::vector<std::uint64_t> blocks;
  std::uint32_t block_tokens = 0;  // 0: the trace says nothing about prefixes
  bool blocks_of_output = false;   // the blocks go on with the output behind the prompt

  std::uint64_t session = 0;   // requests of one conversation; 0: none
  std::uint32_t turn = 0;      // place in the conversation, from 0
  Duration think{};            // closed loop: how long after the end of the turn before it came; else 0
  std::uint32_t priority = 0;  // larger is more urgent; 0: the trace has none
  std::string id;              // as the trace calls it; may be empty
};

class RequestSource {
 public:
  virtual ~RequestSource() = default;

  // When the next request arrives, as far as is known now: what finishes later can bring an earlier one. Nothing: only
  // a finish can bring more, and the end is reached when all that was taken is finished. Throws Error(invalid_argument)
  // for a row that makes no sense, with its file, line and field.
  virtual std::optional<Duration> peek() = 0;

  // Takes that request. Arrivals never go back. Throws as peek() does.
  virtual std::optional<TraceRequest> next() = 0;

  // A request of a session (one that has session != 0) has ended, well or badly, at that time since the start of the
  // trace; to be called once for each that was taken. Sources whose arrivals are fixed ignore it.
  virtual void finished(std::uint64_t session, Duration end) = 0;
};

}  // namespace baton::sim
