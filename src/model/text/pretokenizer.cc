#include "model/text/pretokenizer.h"

#include <algorithm>
#include <array>
#include <cstdint>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "runtime/errors.h"

namespace baton {

namespace {

// The inside of a character class: Unicode's White_Space.
#define BATON_BLANK R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
// What most rules end with: blanks before a line end, blanks but for the one that belongs to the next word, the rest.
#define BATON_BLANKS "[" BATON_BLANK "]+(?![^" BATON_BLANK "])|[" BATON_BLANK "]+"
#define BATON_LINES "[" BATON_BLANK R"(]*[\r\n]+|)" BATON_BLANKS
// English contractions; U+017F is the long s, which the case-insensitive original matches as well.
#define BATON_CONTRACTION R"('(?:[sS\x{17f}tTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])|)"

constexpr const char* kGpt2 =
    R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^)" BATON_BLANK R"(\p{L}\p{N}]+|)" BATON_BLANKS;
constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kLlama3 =
    BATON_CONTRACTION R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^)" BATON_BLANK R"(\p{L}\p{N}]+[\r\n]*|)" BATON_LINES;
constexpr const char* kQwen2 =
    BATON_CONTRACTION R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^)" BATON_BLANK R"(\p{L}\p{N}]+[\r\n]*|)" BATON_LINES;
constexpr const char* kQwen35 = BATON_CONTRACTION R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^)" BATON_BLANK
                                                  R"(\p{L}\p{M}\p{N}]+[\r\n]*|)" BATON_LINES;
constexpr const char* kDigitsByThree = R"(\p{N}{1,3})";
constexpr const char* kHanAndKana = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr const char* kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" BATON_LINES;

struct Family {
  std::string_view name;
  std::array<const char*, 3> rules;
  bool llama3 = false;
};

constexpr std::array kFamilies = {
    Family{"gpt-2", {kGpt2}},
    Family{"phi-2", {kGpt2}},
    Family{"smollm", {kDigit, kGpt2}},
    Family{"starcoder", {kDigit, kGpt2}},
    Family{"refact", {kDigit, kGpt2}},
    Family{"command-r", {kDigit, kGpt2}},
    Family{"llama-bpe", {kLlama3}, true},
    Family{"llama3", {kLlama3}, true},
    Family{"llama-v3", {kLlama3}, true},
    Family{"qwen2", {kQwen2}},
    Family{"deepseek-r1-qwen", {kQwen2}},
    Family{"qwen35", {kQwen35}},
    Family{"deepseek-v3", {kDigitsByThree, kHanAndKana, kDeepSeek3}},
};

const Family* find_family(std::string_view name) noexcept {
  const auto at = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.name == name; });
  return at == kFamilies.end() ? nullptr : &*at;
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const noexcept { pcre2_match_data_free(data); }
};

}  // namespace

class PreTokenizer::Rule final {
 public:
  explicit Rule(const char* pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                              &error, &offset, nullptr));
    if (code_ == nullptr) {
      throw Error(Errc::internal,
                  fmt::format("pre-tokenizer rule fails to compile at {}: PCRE2 error {}", offset, error));
    }
    // Where the JIT is missing the same matches are found by interpretation.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  void split(std::string_view text, std::vector<std::string_view>& pieces) const {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    std::size_t at = 0;
    while (at < text.size()) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                    PCRE2_NO_UTF_CHECK, data.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) {
        break;
      }
      if (found < 0) {
        throw Error(
            Errc::invalid_argument,
            fmt::format("text of {} bytes exceeds a limit of the pre-tokenizer (PCRE2 error {})", text.size(), found));
      }
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
      if (bounds[0] > at) {
        pieces.push_back(text.substr(at, bounds[0] - at));
      }
      pieces.push_back(text.substr(bounds[0], bounds[1] - bounds[0]));  // no rule matches an empty string
      at = bounds[1];
    }
    if (at < text.size()) {
      pieces.push_back(text.substr(at));
    }
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const noexcept { pcre2_code_free(code); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
};

PreTokenizer::PreTokenizer(std::string_view name) {
  const Family* family = find_family(name);
  if (family == nullptr) {
    std::string known;
    for (const Family& each : kFamilies) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    }
    throw Error(Errc::bad_file,
                fmt::format("pre-tokenizer '{}' is not supported; supported are {}", name.substr(0, 80), known));
  }
  for (const char* rule : family->rules) {
    if (rule != nullptr) {
      rules_.push_back(std::make_unique<const Rule>(rule));
    }
  }
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> pieces;
  if (!text.empty()) {
    pieces.push_back(text);
  }
  for (const auto& rule : rules_) {
    std::vector<std::string_view> finer;
    finer.reserve(pieces.size() + text.size() / 4);
    for (const std::string_view piece : pieces) {
      rule->split(piece, finer);
    }
    pieces = std::move(finer);
  }
  return pieces;
}

bool PreTokenizer::knows(std::string_view name) noexcept {
  return find_family(name) != nullptr;
}

bool PreTokenizer::is_llama3(std::string_view name) noexcept {
  const Family* family = find_family(name);
  return family != nullptr && family->llama3;
}

}  // namespace baton
