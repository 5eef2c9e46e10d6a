#include "model/text/hf_pretokenizer.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace baton {

namespace json = boost::json;

namespace {

// The patterns as they stand in the published tokenizer.json files of these families.
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekDigits = R"(\p{N}{1,3})";
constexpr std::string_view kDeepSeekHan = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr std::string_view kDeepSeekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string_view text_member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool flag(const json::object& object, std::string_view key, bool otherwise) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

// One step, told apart by what changes the pieces; empty for one that baton does not have.
std::string step_name(const json::object& step) {
  const std::string_view type = text_member(step, "type");
  if (type == "ByteLevel" && !flag(step, "add_prefix_space", true)) {
    return flag(step, "use_regex", true) ? "gpt2 rule" : "bytes";
  }
  if (type == "Digits" && flag(step, "individual_digits", false)) {
    return "digits";
  }
  const json::value* pattern = step.if_contains("pattern");
  if (type == "Split" && text_member(step, "behavior") == "Isolated" && !flag(step, "invert", false) &&
      pattern != nullptr && pattern->is_object()) {
    return std::string(text_member(pattern->get_object(), "Regex"));
  }
  return {};
}

}  // namespace

std::optional<std::string> recognise_hf_pre_tokenizer(const json::value& described) {
  const json::object* object = described.if_object();
  if (object == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> steps;
  const json::value* inner = object->if_contains("pretokenizers");
  if (text_member(*object, "type") == "Sequence" && inner != nullptr && inner->is_array()) {
    for (const json::value& each : inner->get_array()) {
      steps.push_back(each.is_object() ? step_name(each.get_object()) : std::string());
    }
  } else {
    steps.push_back(step_name(*object));
  }
  using Steps = std::vector<std::string_view>;
  const std::array<std::pair<std::string_view, Steps>, 6> known = {{
      {"gpt-2", {"gpt2 rule"}},
      {"smollm", {"digits", "gpt2 rule"}},
      {"llama-bpe", {kLlama3, "bytes"}},
      {"qwen2", {kQwen2, "bytes"}},
      {"qwen35", {kQwen35, "bytes"}},
      {"deepseek-v3", {kDeepSeekDigits, kDeepSeekHan, kDeepSeekWords, "bytes"}},
  }};
  for (const auto& [name, wanted] : known) {
    if (Steps(steps.begin(), steps.end()) == wanted) {
      return std::string(name);
    }
  }
  return std::nullopt;
}

}  // namespace baton
