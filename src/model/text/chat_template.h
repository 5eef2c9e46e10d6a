// Chat messages to prompt text, for the template families baton knows.
//
// The templates are written out by hand, one per family: Debian 12 packages no C++ implementation of Jinja. Which
// family a model uses is recognised by characteristic parts of its template text; any other template is refused by
// name. The result is a list of segments: only what the template itself wrote may contain control tokens, and text of
// a client cannot (TextSegment). The text contains the BOS token where the family's template writes it, so it is
// encoded with add_special = false.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/text/text_segment.h"

namespace baton {

struct ChatMessage {
  std::string role;     // system, user or assistant ("developer" counts as system)
  std::string content;  // content parts are joined by the caller

  ChatMessage() = default;
  ChatMessage(std::string role_in, std::string content_in) : role(std::move(role_in)), content(std::move(content_in)) {}
};

enum class ChatFamily : std::uint8_t {
  chatml,   // no default system message
  smollm2,  // ChatML with SmolLM2's default system message
  qwen25,   // ChatML with Qwen2.5's default system message
  qwen3,    // ChatML, old thinking is dropped from the history
  llama3,   // Llama 3.0: no system message of its own
  llama31,  // Llama 3.1 and later: a system message with two dates is always there
};

const char* to_string(ChatFamily family) noexcept;

struct ChatOptions {
  bool add_generation_prompt = true;    // end with the header of the assistant's answer
  bool continue_final_message = false;  // leave the last message open; it must be the assistant's
  bool enable_thinking = true;          // Qwen3: false puts an empty thought before the answer
  std::string date = "26 Jul 2024";     // Llama 3.1's "Today Date"; this default is the one in its template
};

class ChatTemplate final {
 public:
  explicit ChatTemplate(ChatFamily family) noexcept : family_(family) {}

  // Recognises the family by the template's text. Throws Error(bad_file) with the template's beginning otherwise;
  // also for an empty text, which means that the model has no chat template.
  static ChatTemplate recognise(std::string_view template_text);

  ChatFamily family() const noexcept { return family_; }

  // Throws Error(invalid_argument) naming the message for an unknown role, an empty list, two system messages, or
  // options that contradict each other.
  std::vector<TextSegment> render(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;

 private:
  ChatFamily family_;
};

// The segments joined: what the template's text would have given. For /tokenize and tests; not for encoding.
std::string joined(std::span<const TextSegment> segments);

}  // namespace baton
