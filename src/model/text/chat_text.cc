#include "model/text/chat_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace baton {

namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";

constexpr std::array<std::string_view, 19> kWideBlanks = {
    "\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};

bool is_narrow_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1C' && c <= '\x1F');
}

std::size_t blank_in_front(std::string_view text) {
  if (!text.empty() && is_narrow_blank(text.front())) {
    return 1;
  }
  const auto at = std::find_if(kWideBlanks.begin(), kWideBlanks.end(), [&](auto b) { return text.starts_with(b); });
  return at == kWideBlanks.end() ? 0 : at->size();
}

std::size_t blank_at_end(std::string_view text) {
  if (!text.empty() && is_narrow_blank(text.back())) {
    return 1;
  }
  const auto at = std::find_if(kWideBlanks.begin(), kWideBlanks.end(), [&](auto b) { return text.ends_with(b); });
  return at == kWideBlanks.end() ? 0 : at->size();
}

std::string_view without_trailing_newlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (const std::size_t bytes = blank_in_front(text)) {
    text.remove_prefix(bytes);
  }
  while (const std::size_t bytes = blank_at_end(text)) {
    text.remove_suffix(bytes);
  }
  return text;
}

std::string_view without_leading_newlines(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view without_newlines(std::string_view text) {
  return without_leading_newlines(without_trailing_newlines(text));
}

Thought split_thought(std::string_view text) {
  const std::size_t first_close = text.find(kClose);
  if (first_close == std::string_view::npos) {
    return {{}, text};
  }
  std::string_view reasoning = without_trailing_newlines(text.substr(0, first_close));
  if (const std::size_t open = reasoning.rfind(kOpen); open != std::string_view::npos) {
    reasoning.remove_prefix(open + kOpen.size());
  }
  const std::string_view answer = text.substr(text.rfind(kClose) + kClose.size());
  return {without_leading_newlines(reasoning), without_leading_newlines(answer)};
}

}  // namespace baton
