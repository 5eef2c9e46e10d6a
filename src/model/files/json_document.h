// JSON files that come with a model (config.json, safetensors headers, tokenizer.json), parsed within bounds and read
// by typed, named access. Errors are Error(Errc::bad_file) and name the file and the key. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace baton {

// Parses a text: at most 32 levels deep, UTF-8 checked; of a key that occurs twice the last one counts.
boost::json::value parse_json(std::string_view text, const std::string& origin);

// A JSON object with its file's name. It only looks: the value must outlive it. A null counts as absent; a value of
// another type than asked for, or out of range, throws.
class JsonObject final {
 public:
  JsonObject(const boost::json::object& object, std::string origin);

  // The root of a document. Throws when it is no object.
  static JsonObject root(const boost::json::value& document, const std::string& origin);

  const boost::json::object& raw() const noexcept { return *object_; }
  const std::string& origin() const noexcept { return origin_; }

  const boost::json::value* find(std::string_view key) const noexcept;  // nullptr: absent or null
  std::optional<std::uint64_t> find_u64(std::string_view key) const;    // an integer, or a whole double up to 2^53
  std::optional<double> find_f64(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<JsonObject> find_object(std::string_view key) const;
  std::uint64_t get_u64(std::string_view key) const;  // throws when absent

 private:
  const boost::json::object* object_;
  std::string origin_;
};

// A JSON number as u64, by the rule of find_u64; nothing if it is none.
std::optional<std::uint64_t> json_u64(const boost::json::value& value) noexcept;

}  // namespace baton
