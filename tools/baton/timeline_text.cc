#include "tools/baton/timeline_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "roles/http/api_response.h"
#include "roles/http/json_writer.h"
#include "tools/baton/progress.h"

namespace baton {
namespace {

const char* meaning(Stage stage) noexcept {
  switch (stage) {
    case Stage::route:
      return "to both ranks";
    case Stage::wait_decode_slot:
      return "decode reserves pages";
    case Stage::queue_prefill:
      return "waits for a prefill step";
    case Stage::prefill:
      return "computes the prompt";
    case Stage::transfer_exposed:
      return "rest of the hand-over";
    case Stage::queue_decode:
      return "waits for a decode step";
    case Stage::decode:
      return "generates";
    case Stage::deliver:
      return "to the front end";
  }
  return "";
}

}  // namespace

std::string timeline_text(const FinishEvent& finish) {
  const Timeline& timeline = finish.timeline;
  const double total = std::max(seconds(timeline.total), 1e-9);
  std::string text;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    const double time = seconds(timeline[stage]);
    text += fmt::format("  {:<17}{:>10.2f} ms  {} {}\n", to_string(stage), time * 1e3, bar(time / total, 20),
                        meaning(stage));
  }
  text += fmt::format("  {:<17}{:>10.2f} ms\n", "total", total * 1e3);
  const double decode = seconds(timeline[Stage::decode]);
  const std::uint32_t after_first = finish.usage.completion_tokens - std::min(finish.usage.completion_tokens, 1U);
  text += fmt::format("{} -> {}: {} prompt tokens in {} chunk{}, {} page{} handed over, {} bytes copied\n",
                      to_string(timeline.prefill), to_string(timeline.decode), finish.usage.prompt_tokens,
                      timeline.chunks, timeline.chunks == 1 ? "" : "s", timeline.pages, timeline.pages == 1 ? "" : "s",
                      timeline.moved_bytes);
  text += fmt::format("first token after {:.1f} ms, {} tokens", seconds(timeline.first_token) * 1e3,
                      finish.usage.completion_tokens);
  if (after_first > 0 && decode > 0) {
    text += fmt::format(", {:.1f} tokens/s after the first", after_first / decode);
  }
  return text + "\n";
}

std::string timeline_json(const FinishEvent& finish) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("prompt_tokens").number(finish.usage.prompt_tokens);
  json.key("completion_tokens").number(finish.usage.completion_tokens);
  json.key("timeline");
  append_timeline(json, finish.timeline);
  json.end_object();
  return text + "\n";
}

}  // namespace baton
