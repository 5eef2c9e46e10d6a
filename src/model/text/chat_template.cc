#include "model/text/chat_template.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/text/chat_text.h"
#include "runtime/errors.h"

namespace baton {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Errc::invalid_argument, what);
}

// Segments in the making: neighbours of one kind are joined.
class Prompt final {
 public:
  Prompt& trusted(std::string_view text) { return add(text, true); }
  Prompt& untrusted(std::string_view text) { return add(text, false); }
  std::vector<TextSegment> take() { return std::move(segments_); }

 private:
  Prompt& add(std::string_view text, bool parse_special) {
    if (text.empty()) {
      return *this;
    }
    if (segments_.empty() || segments_.back().parse_special != parse_special) {
      segments_.emplace_back(std::string(), parse_special);
    }
    segments_.back().text += text;
    return *this;
  }

  std::vector<TextSegment> segments_;
};

std::string_view role_of(const ChatMessage& message) {
  return message.role == "developer" ? std::string_view("system") : std::string_view(message.role);
}

void check(std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (messages.empty()) {
    refuse("messages must not be empty");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string_view role = role_of(messages[i]);
    if (role != "system" && role != "user" && role != "assistant") {
      refuse(fmt::format("messages[{}].role must be system, user or assistant, got '{}'", i, role.substr(0, 80)));
    }
  }
  if (options.continue_final_message && options.add_generation_prompt) {
    refuse("continue_final_message and add_generation_prompt cannot both be true");
  }
  if (options.continue_final_message && messages.back().role != "assistant") {
    refuse(fmt::format("continue_final_message needs a last message of the assistant, got '{}'",
                       messages.back().role.substr(0, 80)));
  }
}

void render_chatml(std::span<const ChatMessage> messages, const ChatOptions& options, std::string_view default_system,
                   Prompt& prompt) {
  if (!default_system.empty() && role_of(messages.front()) != "system") {
    prompt.trusted("<|im_start|>system\n").trusted(default_system).trusted("<|im_end|>\n");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    prompt.trusted("<|im_start|>").trusted(role_of(messages[i])).trusted("\n").untrusted(messages[i].content);
    if (i + 1 < messages.size() || !options.continue_final_message) {
      prompt.trusted("<|im_end|>\n");
    }
  }
  if (options.add_generation_prompt) {
    prompt.trusted("<|im_start|>assistant\n");
  }
}

// The last message of the user that is not the answer of a tool; thinking after it stays in the prompt.
std::size_t last_question(std::span<const ChatMessage> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const std::string_view text = messages[i].content;
    const bool tool_answer = text.starts_with("<tool_response>") && text.ends_with("</tool_response>");
    if (messages[i].role == "user" && !tool_answer) {
      return i;
    }
  }
  return messages.size() - 1;
}

void render_qwen3_answer(std::string_view content, bool after_question, bool last, Prompt& prompt) {
  const Thought thought = split_thought(content);
  if (after_question && (last || !thought.reasoning.empty())) {
    prompt.trusted("<think>\n").untrusted(without_newlines(thought.reasoning)).trusted("\n</think>\n\n");
    prompt.untrusted(without_leading_newlines(thought.answer));
  } else {
    prompt.untrusted(thought.answer);
  }
}

void render_qwen3(std::span<const ChatMessage> messages, const ChatOptions& options, bool thinking_only,
                  Prompt& prompt) {
  const std::size_t question = last_question(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool last = i + 1 == messages.size();
    prompt.trusted("<|im_start|>").trusted(role_of(messages[i])).trusted("\n");
    if (messages[i].role == "assistant") {
      render_qwen3_answer(messages[i].content, i > question, last, prompt);
    } else {
      prompt.untrusted(messages[i].content);
    }
    if (!last || !options.continue_final_message) {
      prompt.trusted("<|im_end|>\n");
    }
  }
  if (options.add_generation_prompt) {
    prompt.trusted("<|im_start|>assistant\n");
    if (thinking_only) {
      prompt.trusted("<think>\n");
    } else if (!options.enable_thinking) {
      prompt.trusted("<think>\n\n</think>\n\n");
    }
  }
}

void render_llama(std::span<const ChatMessage> messages, const ChatOptions& options, bool dates, Prompt& prompt) {
  const auto header = [&prompt](std::string_view role) {
    prompt.trusted("<|start_header_id|>").trusted(role).trusted("<|end_header_id|>\n\n");
  };
  prompt.trusted("<|begin_of_text|>");
  if (dates) {
    header("system");
    prompt.trusted("Cutting Knowledge Date: December 2023\nToday Date: ").untrusted(options.date).trusted("\n\n");
    if (role_of(messages.front()) == "system") {
      prompt.untrusted(trimmed(messages.front().content));
      messages = messages.subspan(1);
    }
    prompt.trusted("<|eot_id|>");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    header(role_of(messages[i]));
    prompt.untrusted(trimmed(messages[i].content));
    if (i + 1 < messages.size() || !options.continue_final_message) {
      prompt.trusted("<|eot_id|>");
    }
  }
  if (options.add_generation_prompt) {
    header("assistant");
  }
}

// Template text made comparable: without blanks and line ends, written out or as "\n", and with one kind of quote.
std::string condensed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\n") {
      ++i;
    } else if (text[i] != ' ' && text[i] != '\n' && text[i] != '\r' && text[i] != '\t') {
      out += text[i] == '"' ? '\'' : text[i];
    }
  }
  return out;
}

bool is_chatml(std::string_view condensed_text) {
  static constexpr std::string_view kHeaders[] = {"'<|im_start|>'+message['role']+''+",
                                                  "'<|im_start|>'+message.role+''+"};
  static constexpr std::string_view kContents[] = {"message['content']+'<|im_end|>'", "message.content+'<|im_end|>'",
                                                   "content+'<|im_end|>'"};
  for (const std::string_view header : kHeaders) {
    for (const std::string_view content : kContents) {
      if (condensed_text.find(std::string(header) + std::string(content)) != std::string_view::npos) {
        return true;
      }
    }
  }
  return false;
}

// The text of "<|im_start|>system\nTEXT<|im_end|>", where it is written as one literal in the template.
std::string default_system_of(std::string_view text) {
  for (const std::string_view open :
       {std::string_view("<|im_start|>system\\n"), std::string_view("<|im_start|>system\n")}) {
    for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at + 1)) {
      const std::string_view rest = text.substr(at + open.size());
      const std::string_view words = rest.substr(0, rest.find("<|im_end|>"));
      if (words.size() < rest.size() && words.find_first_of("'\"\\{}\n") == std::string_view::npos) {
        return std::string(words);
      }
    }
  }
  return {};
}

}  // namespace

const char* to_string(ChatFamily family) noexcept {
  switch (family) {
    case ChatFamily::chatml:
      return "chatml";
    case ChatFamily::qwen3:
      return "qwen3";
    case ChatFamily::qwen3_thinking:
      return "qwen3-thinking";
    case ChatFamily::llama3:
      return "llama3";
    case ChatFamily::llama31:
      return "llama3.1";
  }
  return "?";
}

ChatTemplate ChatTemplate::recognise(std::string_view template_text) {
  const auto has = [template_text](std::string_view part) {
    return template_text.find(part) != std::string_view::npos;
  };
  if (template_text.empty()) {
    throw Error(Errc::bad_file, "the model has no chat template");
  }
  if (has("<|start_header_id|>") && has("<|eot_id|>")) {
    return ChatTemplate(has("Cutting Knowledge Date") ? ChatFamily::llama31 : ChatFamily::llama3);
  }
  const std::string text = condensed(template_text);
  if (is_chatml(text)) {
    if (has("</think>") && has("last_query_index")) {
      const bool thinking_only = text.find("'<|im_start|>assistant<think>'") != std::string::npos;
      return ChatTemplate(thinking_only ? ChatFamily::qwen3_thinking : ChatFamily::qwen3);
    }
    if (!has("</think>") && !has("reasoning_mode")) {
      return ChatTemplate(ChatFamily::chatml, default_system_of(template_text));
    }
  }
  throw Error(Errc::bad_file,
              fmt::format("the chat template is of no family that is supported (ChatML, Qwen3, Llama 3): '{}'",
                          template_text.substr(0, 80)));
}

std::vector<TextSegment> ChatTemplate::render(std::span<const ChatMessage> messages, const ChatOptions& options) const {
  check(messages, options);
  Prompt prompt;
  switch (family_) {
    case ChatFamily::chatml:
      render_chatml(messages, options, default_system_, prompt);
      break;
    case ChatFamily::qwen3:
    case ChatFamily::qwen3_thinking:
      render_qwen3(messages, options, family_ == ChatFamily::qwen3_thinking, prompt);
      break;
    case ChatFamily::llama3:
    case ChatFamily::llama31:
      render_llama(messages, options, family_ == ChatFamily::llama31, prompt);
      break;
  }
  return prompt.take();
}

std::string joined(std::span<const TextSegment> segments) {
  std::string text;
  for (const TextSegment& segment : segments) {
    text += segment.text;
  }
  return text;
}

}  // namespace baton
