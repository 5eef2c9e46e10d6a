// Chat messages to prompt text, for the template families baton knows.
//
// The templates are written out by hand, one per family: Debian 12 packages no C++ implementation of Jinja. Which
// family a model uses is recognised by characteristic parts of its template text; any other template is refused by
// name. The result is a list of segments: only what the template itself wrote may contain control tokens, text of a
// client cannot (TextSegment). The text contains the BOS token where the family's template writes it, so it is encoded
// with add_special = false.
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
  std::string role;     // system, user or assistant; developer counts as system
  std::string content;  // content parts are joined by the caller

  ChatMessage() = default;
  ChatMessage(std::string role_in, std::string content_in) : role(std::move(role_in)), content(std::move(content_in)) {}
};

enum class ChatFamily : std::uint8_t {
  chatml,          // <|im_start|>role, text, <|im_end|>; a system message of its own where the template has one
  qwen3,           // ChatML; thinking before the last question is dropped from the history
  qwen3_thinking,  // the same, and the answer always begins inside a thought
  llama3,          // Llama 3.0: headers, trimmed text, no system message of its own
  llama31,         // Llama 3.1 and later: a system message with two dates is always there
};

const char* to_string(ChatFamily family) noexcept;

struct ChatOptions {
  bool add_generation_prompt = true;    // end with the header of the assistant's answer
  bool continue_final_message = false;  // leave the last message open: it must be the assistant's
  bool enable_thinking = true;          // qwen3: false puts an empty thought before the answer
  std::string date = "26 Jul 2024";     // llama31's "Today Date"; this value is the template's own
};

class ChatTemplate final {
 public:
  // default_system: what the template says where the client gives no system message (chatml only); may be empty.
  explicit ChatTemplate(ChatFamily family, std::string default_system = {})
      : family_(family), default_system_(std::move(default_system)) {}

  // Recognises the family by the template's text. Throws Error(bad_file) with the template's beginning otherwise;
  // also for an empty text, which means that the model has no chat template.
  static ChatTemplate recognise(std::string_view template_text);

  ChatFamily family() const noexcept { return family_; }
  const std::string& default_system() const noexcept { return default_system_; }

  // Throws Error(invalid_argument) naming the message for an unknown role or an empty list, and for options that
  // contradict each other.
  std::vector<TextSegment> render(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;

 private:
  ChatFamily family_;
  std::string default_system_;
};

// The segments joined: what the template's text would have given. For /tokenize and tests; not for encoding.
std::string joined(std::span<const TextSegment> segments);

}  // namespace baton
