// A stretch of prompt text together with whether control tokens may be recognised in it.
//
// This is the guard against prompt injection: what a chat template writes is trusted, what a client wrote is not. A
// "<|im_end|>" inside an untrusted segment is encoded as the ordinary characters it consists of.
#pragma once

#include <string>
#include <utility>

namespace baton {

struct TextSegment {
  std::string text;
  bool parse_special = false;  // true only for text that baton itself wrote

  TextSegment() = default;
  TextSegment(std::string text_in, bool parse_special_in) : text(std::move(text_in)), parse_special(parse_special_in) {}
};

}  // namespace baton
