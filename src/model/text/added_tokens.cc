#include "model/text/added_tokens.h"

#include "runtime/check.h"

namespace baton {

namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

AddedTokens::AddedTokens() : nodes_(1) {}

void AddedTokens::add(TokenId id, std::string_view text, bool control, TokenStrip strip) {
  BATON_CHECK(!text.empty() && text.size() <= kTextBytesMax, text.size());
  begins_[static_cast<unsigned char>(text.front())] = true;
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto [child, inserted] = nodes_[node].children.try_emplace(c, static_cast<std::uint32_t>(nodes_.size()));
    node = child->second;
    if (inserted) {
      nodes_.emplace_back();
    }
  }
  BATON_CHECK(nodes_[node].id < 0, nodes_[node].id, id);
  nodes_[node].id = id;
  nodes_[node].control = control;
  nodes_[node].strip = strip;
}

std::optional<TokenId> AddedTokens::id_of(std::string_view text) const {
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto child = nodes_[node].children.find(c);
    if (child == nodes_[node].children.end()) {
      return std::nullopt;
    }
    node = child->second;
  }
  return nodes_[node].id >= 0 ? std::optional(nodes_[node].id) : std::nullopt;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, std::size_t from,
                                                    const std::vector<TrustedRange>& trusted) const {
  std::size_t range = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      continue;
    }
    while (range < trusted.size() && trusted[range].end <= at) {
      ++range;
    }
    const bool inside = range < trusted.size() && trusted[range].begin <= at;
    if (const auto match = match_at(text, at, inside ? trusted[range].end : at)) {
      return with_blanks(*match, text, from);
    }
  }
  return std::nullopt;
}

// The longest token at this place. Control tokens must end by trusted_end.
std::optional<AddedTokens::Match> AddedTokens::match_at(std::string_view text, std::size_t begin,
                                                        std::size_t trusted_end) const {
  std::optional<Match> best;
  std::uint32_t node = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const auto child = nodes_[node].children.find(text[at]);
    if (child == nodes_[node].children.end()) {
      break;
    }
    node = child->second;
    const bool allowed = !nodes_[node].control || at < trusted_end;
    if (nodes_[node].id >= 0 && allowed) {
      best = Match{nodes_[node].id, begin, at + 1, nodes_[node].strip};
    }
  }
  return best;
}

AddedTokens::Match AddedTokens::with_blanks(Match match, std::string_view text, std::size_t from) {
  while (match.strip.left && match.begin > from && is_blank(text[match.begin - 1])) {
    --match.begin;
  }
  while (match.strip.right && match.end < text.size() && is_blank(text[match.end])) {
    ++match.end;
  }
  return match;
}

}  // namespace baton
