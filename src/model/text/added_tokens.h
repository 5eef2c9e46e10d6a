// Finds the tokens that stand for fixed text ("<|im_end|>") in a prompt: leftmost first, the longest of those.
//
// Control tokens are found only where the caller trusts the text; user-defined ones everywhere, as Hugging Face does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "model/text/vocabulary.h"
#include "runtime/ids.h"

namespace baton {

class AddedTokens final {
 public:
  static constexpr std::size_t kTextBytesMax = 1024;  // bounds the work per position of the text

  struct Match {
    TokenId id;
    std::size_t begin;
    std::size_t end;
    TokenStrip strip;
  };
  struct TrustedRange {
    std::size_t begin;
    std::size_t end;
  };

  AddedTokens();

  // Text of 1 to kTextBytesMax bytes, each text once. `control`: matched in trusted ranges only.
  void add(TokenId id, std::string_view text, bool control, TokenStrip strip);

  // The next match at or after `from`; trusted ranges ascend and do not touch each other. The match of a token that
  // takes blanks includes them (ASCII blanks), but none before `from`.
  std::optional<Match> find(std::string_view text, std::size_t from, const std::vector<TrustedRange>& trusted) const;
  std::optional<TokenId> id_of(std::string_view text) const;  // the token whose whole text this is

 private:
  struct Node {
    std::map<char, std::uint32_t> children;
    TokenId id = -1;
    bool control = false;
    TokenStrip strip;
  };

  std::optional<Match> match_at(std::string_view text, std::size_t begin, std::size_t trusted_end) const;
  static Match with_blanks(Match match, std::string_view text, std::size_t from);

  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};  // bytes that some token begins with
};

}  // namespace baton
