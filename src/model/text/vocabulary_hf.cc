#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "model/text/hf_pretokenizer.h"
#include "model/text/pretokenizer.h"
#include "model/text/vocabulary.h"
#include "runtime/errors.h"

namespace baton {

namespace json = boost::json;

namespace {

[[noreturn]] void refuse(std::string_view file, const std::string& what) {
  throw Error(Errc::bad_file, fmt::format("{}: {}", file, what));
}

json::object parse_object(std::string_view file, std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) {
    refuse(file, "not valid JSON: " + error.message());
  }
  if (!value.is_object()) {
    refuse(file, "not a JSON object");
  }
  return std::move(value.get_object());
}

// The member if it is there and not null.
const json::value* member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool flag(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string_view text_or_empty(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// Builds one Vocabulary from the three texts.
class Reader final {
 public:
  Vocabulary read(const HuggingFaceTexts& texts) {
    const json::object root = parse_object(kTokenizer, texts.tokenizer_json);
    const json::value* model = member(root, "model");
    if (model == nullptr || !model->is_object()) {
      refuse(kTokenizer, "there is no model");
    }
    read_model(model->get_object());
    read_added_tokens(root);
    read_normalizer(root);
    read_pre_tokenizer(root);
    read_post_processor(member(root, "post_processor"), 0);
    read_config(texts.tokenizer_config_json);
    read_generation_config(texts.generation_config_json);
    return std::move(vocabulary_);
  }

 private:
  static constexpr std::string_view kTokenizer = "tokenizer.json";
  static constexpr std::string_view kConfig = "tokenizer_config.json";
  static constexpr std::string_view kGeneration = "generation_config.json";

  void read_model(const json::object& model) {
    const std::string_view type = text_or_empty(model, "type");
    if (type != "BPE") {
      refuse(kTokenizer, fmt::format("model type is '{}'; only BPE is supported", type.substr(0, 80)));
    }
    if (flag(model, "byte_fallback") || !text_or_empty(model, "continuing_subword_prefix").empty() ||
        !text_or_empty(model, "end_of_word_suffix").empty() || member(model, "dropout") != nullptr) {
      refuse(kTokenizer, "byte_fallback, subword prefixes and suffixes and dropout are not supported");
    }
    const json::value* vocab = member(model, "vocab");
    if (vocab == nullptr || !vocab->is_object()) {
      refuse(kTokenizer, "model.vocab is missing or not an object");
    }
    for (const auto& [text, id] : vocab->get_object()) {
      place(id, text, TokenKind::normal);
    }
    read_merges(model);
    vocabulary_.ignore_merges = flag(model, "ignore_merges");
    vocabulary_.unk = id_of(text_or_empty(model, "unk_token"));
  }

  void read_merges(const json::object& model) {
    const json::value* merges = member(model, "merges");
    if (merges == nullptr || !merges->is_array()) {
      refuse(kTokenizer, "model.merges is missing or not an array");
    }
    for (const json::value& merge : merges->get_array()) {
      if (merge.is_string()) {
        vocabulary_.merges.emplace_back(merge.get_string());
        continue;
      }
      const json::array* pair = merge.if_array();
      if (pair == nullptr || pair->size() != 2 || !pair->at(0).is_string() || !pair->at(1).is_string()) {
        refuse(kTokenizer, fmt::format("merge {} is not a pair", vocabulary_.merges.size()));
      }
      vocabulary_.merges.push_back(
          fmt::format("{} {}", std::string_view(pair->at(0).get_string()), std::string_view(pair->at(1).get_string())));
    }
  }

  // Ids may have holes, which become unused tokens; kIdMax bounds what a hostile file can make us allocate.
  void place(const json::value& id_value, std::string_view text, TokenKind kind) {
    boost::system::error_code error;
    const auto id = id_value.is_number() ? id_value.to_number<std::int64_t>(error) : -1;
    if (error || id < 0 || id > kIdMax) {
      refuse(kTokenizer, fmt::format("token '{}' has no usable id", text.substr(0, 80)));
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= vocabulary_.tokens.size()) {
      vocabulary_.tokens.resize(index + 1);
      vocabulary_.kinds.resize(index + 1, TokenKind::unused);
    }
    if (vocabulary_.kinds[index] != TokenKind::unused && vocabulary_.tokens[index] != text) {
      refuse(kTokenizer, fmt::format("token id {} is given to '{}' and to '{}'", id,
                                     vocabulary_.tokens[index].substr(0, 80), text.substr(0, 80)));
    }
    vocabulary_.tokens[index] = text;
    vocabulary_.kinds[index] = kind;
  }

  void read_added_tokens(const json::object& root) {
    const json::value* added = member(root, "added_tokens");
    if (added == nullptr) {
      return;
    }
    if (!added->is_array()) {
      refuse(kTokenizer, "added_tokens is not an array");
    }
    for (const json::value& value : added->get_array()) {
      const json::object* token = value.if_object();
      const json::value* id = token == nullptr ? nullptr : member(*token, "id");
      if (id == nullptr || text_or_empty(*token, "content").empty()) {
        refuse(kTokenizer, "an added token has no id or no content");
      }
      read_added_token(*token, *id);
    }
  }

  void read_added_token(const json::object& token, const json::value& id) {
    const std::string_view content = text_or_empty(token, "content");
    if (flag(token, "single_word")) {
      refuse(kTokenizer, fmt::format("added token '{}' is single_word, which is not supported", content.substr(0, 80)));
    }
    place(id, content, flag(token, "special") ? TokenKind::control : TokenKind::user_defined);
    const TokenStrip strip{flag(token, "lstrip"), flag(token, "rstrip")};
    if (strip.left || strip.right) {
      vocabulary_.strips.emplace_back(id.to_number<TokenId>(), strip);
    }
  }

  void read_normalizer(const json::object& root) {
    const json::value* normalizer = member(root, "normalizer");
    if (normalizer == nullptr) {
      return;
    }
    const json::object* object = normalizer->if_object();
    const std::string_view type = object == nullptr ? "" : text_or_empty(*object, "type");
    if (type != "NFC") {
      refuse(kTokenizer, fmt::format("normalizer '{}' is not supported", type.substr(0, 80)));
    }
    vocabulary_.normalize_nfc = true;
  }

  void read_pre_tokenizer(const json::object& root) {
    const json::value* described = member(root, "pre_tokenizer");
    const auto name = described == nullptr ? std::nullopt : recognise_hf_pre_tokenizer(*described);
    if (!name) {
      const std::string shown = described == nullptr ? "none" : json::serialize(*described).substr(0, 200);
      refuse(kTokenizer, "the pre-tokenizer is not one of those supported: " + shown);
    }
    vocabulary_.pre_tokenizer = *name;
  }

  // TemplateProcessing puts special tokens around the text; all other processors leave the ids alone.
  void read_post_processor(const json::value* processor, int depth) {
    const json::object* object = processor == nullptr ? nullptr : processor->if_object();
    if (object == nullptr || depth > 4) {
      return;
    }
    if (const json::value* inner = member(*object, "processors"); inner != nullptr && inner->is_array()) {
      for (const json::value& each : inner->get_array()) {
        read_post_processor(&each, depth + 1);
      }
    }
    const json::value* single = member(*object, "single");
    if (text_or_empty(*object, "type") != "TemplateProcessing" || single == nullptr || !single->is_array()) {
      return;
    }
    bool before = true;
    for (const json::value& part : single->get_array()) {
      const json::object* entry = part.if_object();
      const json::value* special = entry == nullptr ? nullptr : member(*entry, "SpecialToken");
      if (special == nullptr || !special->is_object()) {
        before = false;
        continue;
      }
      const auto id = id_of(text_or_empty(special->get_object(), "id"));
      (before ? vocabulary_.bos : vocabulary_.eos) = id;
      (before ? vocabulary_.add_bos : vocabulary_.add_eos) = id.has_value();
    }
  }

  void read_config(std::string_view text) {
    if (text.empty()) {
      return;
    }
    const json::object config = parse_object(kConfig, text);
    special(config, "bos_token", vocabulary_.bos);
    special(config, "eos_token", vocabulary_.eos);
    special(config, "unk_token", vocabulary_.unk);
    special(config, "pad_token", vocabulary_.pad);
    if (const json::value* add = member(config, "add_bos_token"); add != nullptr && add->is_bool()) {
      vocabulary_.add_bos = add->get_bool();
    }
    if (const json::value* add = member(config, "add_eos_token"); add != nullptr && add->is_bool()) {
      vocabulary_.add_eos = add->get_bool();
    }
    read_chat_template(member(config, "chat_template"));
  }

  // A special token is named by its text or by an object with a content.
  void special(const json::object& config, std::string_view key, std::optional<TokenId>& into) {
    const json::value* value = member(config, key);
    if (value == nullptr) {
      return;
    }
    const json::object* object = value->if_object();
    const std::string_view text = object != nullptr ? text_or_empty(*object, "content") : text_or_empty(config, key);
    into = id_of(text);
    if (!into) {
      refuse(kConfig, fmt::format("{} is '{}', which is no token", key, text.substr(0, 80)));
    }
  }

  // One template, or a list of named ones, of which "default" counts.
  void read_chat_template(const json::value* value) {
    if (value == nullptr) {
      return;
    }
    if (value->is_string()) {
      vocabulary_.chat_template = value->get_string();
    } else if (value->is_array()) {
      for (const json::value& each : value->get_array()) {
        const json::object* named = each.if_object();
        if (named != nullptr && text_or_empty(*named, "name") == "default") {
          vocabulary_.chat_template = text_or_empty(*named, "template");
        }
      }
    }
  }

  void read_generation_config(std::string_view text) {
    if (text.empty()) {
      return;
    }
    const json::object config = parse_object(kGeneration, text);
    const json::value* ends = member(config, "eos_token_id");
    if (ends == nullptr) {
      return;
    }
    const json::array one{*ends};
    for (const json::value& end : ends->is_array() ? ends->get_array() : one) {
      boost::system::error_code error;
      const auto id = end.is_number() ? end.to_number<std::int64_t>(error) : -1;
      if (error || id < 0 || static_cast<std::size_t>(id) >= vocabulary_.tokens.size()) {
        refuse(kGeneration, fmt::format("eos_token_id {} is no token", json::serialize(end).substr(0, 80)));
      }
      vocabulary_.end_of_generation.push_back(static_cast<TokenId>(id));
    }
  }

  // By the stored text: special tokens are few, so a search each is cheap enough.
  std::optional<TokenId> id_of(std::string_view text) const {
    const auto at = std::find(vocabulary_.tokens.begin(), vocabulary_.tokens.end(), text);
    if (text.empty() || at == vocabulary_.tokens.end()) {
      return std::nullopt;
    }
    return static_cast<TokenId>(at - vocabulary_.tokens.begin());
  }

  static constexpr std::int64_t kIdMax = (1 << 22) - 1;  // 16 times the largest vocabulary in use

  Vocabulary vocabulary_;
};

}  // namespace

Vocabulary vocabulary_from_hf(const HuggingFaceTexts& texts) {
  return Reader().read(texts);
}

}  // namespace baton
