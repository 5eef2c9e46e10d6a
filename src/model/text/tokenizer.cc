#include "model/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "model/text/added_tokens.h"
#include "model/text/bpe.h"
#include "model/text/byte_alphabet.h"
#include "model/text/pretokenizer.h"
#include "model/text/utf8.h"
#include "runtime/errors.h"

namespace baton {

namespace {

constexpr TokenId kNoToken = -1;

// Tokens that end a text in the model families baton knows, whichever of them a file names as EOS. llama.cpp has the
// same rule (llama-vocab.cpp, special_eog_ids).
constexpr std::array<std::string_view, 9> kEndTexts = {
    "<|endoftext|>",   "<|im_end|>",    "<|eot_id|>",
    "<|end_of_text|>", "<|eom_id|>",    "<|end|>",
    "<EOT>",           "<end_of_turn>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>"};

bool is_added(TokenKind kind) {
  return kind == TokenKind::control || kind == TokenKind::user_defined || kind == TokenKind::unknown;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Errc::bad_file, "tokenizer: " + what);
}

}  // namespace

// Everything that encoding and decoding look at; built once, then only read.
struct Tokenizer::Tables {
  explicit Tables(Vocabulary vocabulary_in);

  void store_bytes();
  void index_tokens();
  void compile_merges();
  void collect_ends();
  void check_special(const char* name, std::optional<TokenId> id) const;
  TokenStrip strip_of(TokenId id) const;

  std::string_view bytes_of(TokenId id) const {
    const auto index = static_cast<std::size_t>(id);
    return std::string_view(bytes).substr(offsets[index], offsets[index + 1] - offsets[index]);
  }

  Vocabulary vocabulary;
  PreTokenizer pre_tokenizer;
  std::string bytes;                                       // what all tokens stand for, one after another
  std::vector<std::size_t> offsets;                        // of each token in bytes, and the end
  std::unordered_map<std::string_view, TokenId> by_bytes;  // normal tokens
  std::array<TokenId, 256> byte_tokens{};                  // kNoToken where a byte has no token
  AddedTokens added;
  MergeTable merges;
  std::vector<TokenId> ends;  // ascending
};

Tokenizer::Tables::Tables(Vocabulary vocabulary_in)
    : vocabulary(std::move(vocabulary_in)), pre_tokenizer(vocabulary.pre_tokenizer) {
  if (vocabulary.tokens.empty() || vocabulary.tokens.size() != vocabulary.kinds.size()) {
    refuse(fmt::format("{} tokens but {} token types", vocabulary.tokens.size(), vocabulary.kinds.size()));
  }
  check_special("bos", vocabulary.bos);
  check_special("eos", vocabulary.eos);
  check_special("eot", vocabulary.eot);
  check_special("unknown", vocabulary.unk);
  check_special("padding", vocabulary.pad);
  store_bytes();
  index_tokens();
  compile_merges();
  collect_ends();
}

void Tokenizer::Tables::check_special(const char* name, std::optional<TokenId> id) const {
  if (id && (*id < 0 || static_cast<std::size_t>(*id) >= vocabulary.tokens.size())) {
    refuse(fmt::format("the {} token is {}, but there are {} tokens", name, *id, vocabulary.tokens.size()));
  }
}

void Tokenizer::Tables::store_bytes() {
  offsets.reserve(vocabulary.tokens.size() + 1);
  offsets.push_back(0);
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.kinds[i] == TokenKind::normal) {
      bytes += bytes_of_alphabet(vocabulary.tokens[i]);
    } else if (is_added(vocabulary.kinds[i])) {
      bytes += vocabulary.tokens[i];
    }
    offsets.push_back(bytes.size());
  }
}

TokenStrip Tokenizer::Tables::strip_of(TokenId id) const {
  for (const auto& [token, strip] : vocabulary.strips) {
    if (token == id) {
      return strip;
    }
  }
  return {};
}

void Tokenizer::Tables::index_tokens() {
  by_bytes.reserve(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = vocabulary.kinds[i];
    const std::string_view text = bytes_of(id);
    if (kind == TokenKind::normal && !by_bytes.emplace(text, id).second) {
      refuse(fmt::format("tokens {} and {} are the same", by_bytes.at(text), id));
    }
    if (!is_added(kind)) {
      continue;
    }
    if (text.empty() || text.size() > AddedTokens::kTextBytesMax || !is_valid_utf8(text)) {
      refuse(fmt::format("added token {} has {} bytes or is not UTF-8", id, text.size()));
    }
    if (added.id_of(text)) {
      refuse(fmt::format("added token {} occurs twice", id));
    }
    added.add(id, text, kind != TokenKind::user_defined, strip_of(id));
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const auto found = by_bytes.find(std::string_view(&c, 1));
    byte_tokens[byte] = found != by_bytes.end() ? found->second : kNoToken;
  }
}

void Tokenizer::Tables::compile_merges() {
  std::unordered_map<std::string_view, TokenId> by_text;  // as stored, which is how merges name them
  by_text.reserve(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    by_text.emplace(vocabulary.tokens[i], static_cast<TokenId>(i));
  }
  const auto token = [&](std::size_t rank, std::string_view text) {
    const auto found = by_text.find(text);
    if (found == by_text.end()) {
      refuse(fmt::format("merge {} names '{}', which is no token", rank, text.substr(0, 80)));
    }
    return found->second;
  };
  std::vector<Merge> compiled;
  compiled.reserve(vocabulary.merges.size());
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const std::string_view merge = vocabulary.merges[rank];
    const std::size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos || blank + 1 == merge.size()) {
      refuse(fmt::format("merge {} is not a pair: '{}'", rank, merge.substr(0, 80)));
    }
    const std::string_view left = merge.substr(0, blank);
    const std::string_view right = merge.substr(blank + 1);
    const std::string result = std::string(left) + std::string(right);
    compiled.push_back({token(rank, left), token(rank, right), token(rank, result)});
  }
  merges = MergeTable(compiled);
  vocabulary.merges = {};
}

void Tokenizer::Tables::collect_ends() {
  const auto add = [this](std::optional<TokenId> id) {
    if (id) {
      check_special("end", id);
      ends.push_back(*id);
    }
  };
  add(vocabulary.eos);
  add(vocabulary.eot);
  for (const TokenId id : vocabulary.end_of_generation) {
    add(id);
  }
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const bool named = std::find(kEndTexts.begin(), kEndTexts.end(), vocabulary.tokens[i]) != kEndTexts.end();
    if (named && is_added(vocabulary.kinds[i])) {
      ends.push_back(static_cast<TokenId>(i));
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

namespace {

// One text, joined from segments, with the places where control tokens count.
struct JoinedText {
  std::string text;
  std::vector<AddedTokens::TrustedRange> trusted;

  void add(std::string_view segment, bool parse_special) {
    const std::size_t begin = text.size();
    text += repaired_utf8(segment);
    if (!parse_special || begin == text.size()) {
      return;
    }
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({begin, text.size()});
    }
  }
};

}  // namespace

// The work of one encode call: scratch memory and the ids so far.
class Tokenizer::Encoding final {
 public:
  explicit Encoding(const Tables& tables) : tables_(tables), merger_(tables.merges) {}

  std::vector<TokenId> run(const JoinedText& joined, bool add_special) {
    const Vocabulary& vocabulary = tables_.vocabulary;
    if (add_special && vocabulary.add_bos && vocabulary.bos) {
      ids_.push_back(*vocabulary.bos);
    }
    std::size_t at = 0;
    while (const auto match = tables_.added.find(joined.text, at, joined.trusted)) {
      plain(std::string_view(joined.text).substr(at, match->begin - at));
      ids_.push_back(match->id);
      at = match->end;
    }
    plain(std::string_view(joined.text).substr(at));
    if (add_special && vocabulary.add_eos && vocabulary.eos) {
      ids_.push_back(*vocabulary.eos);
    }
    return std::move(ids_);
  }

 private:
  void plain(std::string_view text) {
    for (const std::string_view piece : tables_.pre_tokenizer.split(text)) {
      encode_piece(piece);
    }
  }

  void encode_piece(std::string_view piece) {
    if (tables_.vocabulary.ignore_merges) {
      const auto whole = tables_.by_bytes.find(piece);
      if (whole != tables_.by_bytes.end()) {
        ids_.push_back(whole->second);
        return;
      }
    }
    symbols_.clear();
    for (const char c : piece) {
      symbols_.push_back(tables_.byte_tokens[static_cast<unsigned char>(c)]);
    }
    merger_.merge(symbols_, ids_);
  }

  const Tables& tables_;
  PieceMerger merger_;
  std::vector<TokenId> symbols_;
  std::vector<TokenId> ids_;
};

Tokenizer::Tokenizer(Vocabulary vocabulary) : tables_(std::make_unique<const Tables>(std::move(vocabulary))) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  JoinedText joined;
  joined.add(text, options.parse_special);
  return Encoding(*tables_).run(joined, options.add_special);
}

std::vector<TokenId> Tokenizer::encode(std::span<const TextSegment> segments, bool add_special) const {
  JoinedText joined;
  for (const TextSegment& segment : segments) {
    joined.add(segment.text, segment.parse_special);
  }
  return Encoding(*tables_).run(joined, add_special);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  Utf8Repair repair;
  for (const TokenId id : ids) {
    if (!skip_special || !is_special(id)) {
      repair.append(token_bytes(id), out);
    }
  }
  repair.finish(out);
  return out;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  const bool known = id >= 0 && static_cast<std::size_t>(id) < vocab_size();
  return known ? tables_->bytes_of(id) : std::string_view();
}

std::optional<TokenId> Tokenizer::find(std::string_view bytes) const {
  if (const auto found = tables_->by_bytes.find(bytes); found != tables_->by_bytes.end()) {
    return found->second;
  }
  return tables_->added.id_of(bytes);
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
  return std::binary_search(tables_->ends.begin(), tables_->ends.end(), id);
}

bool Tokenizer::is_special(TokenId id) const {
  const auto index = static_cast<std::size_t>(id);
  if (id < 0 || index >= tables_->vocabulary.kinds.size()) {
    return false;
  }
  const TokenKind kind = tables_->vocabulary.kinds[index];
  return kind == TokenKind::control || kind == TokenKind::unknown;
}

std::size_t Tokenizer::vocab_size() const noexcept {
  return tables_->vocabulary.tokens.size();
}

std::span<const TokenId> Tokenizer::end_of_generation_ids() const noexcept {
  return tables_->ends;
}

const Vocabulary& Tokenizer::vocabulary() const noexcept {
  return tables_->vocabulary;
}

}  // namespace baton
