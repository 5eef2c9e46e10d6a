// The operations on message text that chat templates use, with the meaning they have there (Python's str methods).
#pragma once

#include <string>
#include <string_view>

namespace baton {

// Without white space at both ends, as Python's str.strip(): all of Unicode's and U+001C to U+001F.
std::string_view trimmed(std::string_view text);

std::string_view without_newlines(std::string_view text);          // '\n' at both ends
std::string_view without_leading_newlines(std::string_view text);  // '\n' at the front

// A Qwen3 answer taken apart at "</think>". Both parts point into the text.
struct Thought {
  std::string_view reasoning;  // empty if there is no thought
  std::string_view answer;
};
Thought split_thought(std::string_view text);

}  // namespace baton
