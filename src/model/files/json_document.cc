#include "model/files/json_document.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "model/files/file_error.h"
#include "runtime/errors.h"

namespace baton {
namespace {

[[noreturn]] void fail_kind(const JsonObject& object, std::string_view key, const boost::json::value& value,
                            std::string_view wanted) {
  const auto kind = boost::json::to_string(value.kind());
  fail_file(object.origin(), fmt::format("key {} is of type {}, {} was expected", in_quotes(key),
                                         std::string_view(kind.data(), kind.size()), wanted));
}

}  // namespace

boost::json::value parse_json(std::string_view text, const std::string& origin) {
  boost::json::parse_options options;
  options.max_depth = 32;
  boost::system::error_code error;
  auto value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  if (error) {
    fail_file(origin, fmt::format("is not valid JSON: {}", error.message()));
  }
  return value;
}

JsonObject::JsonObject(const boost::json::object& object, std::string origin)
    : object_(&object), origin_(std::move(origin)) {}

JsonObject JsonObject::root(const boost::json::value& document, const std::string& origin) {
  if (!document.is_object()) {
    fail_file(origin, "the JSON document is not an object");
  }
  return {document.get_object(), origin};
}

const boost::json::value* JsonObject::find(std::string_view key) const noexcept {
  const boost::json::value* const value = object_->if_contains(boost::json::string_view(key.data(), key.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::uint64_t> JsonObject::find_u64(std::string_view key) const {
  const boost::json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto number = json_u64(*value);
  if (!number) {
    fail_kind(*this, key, *value, "a whole number that is not negative");
  }
  return number;
}

std::optional<double> JsonObject::find_f64(std::string_view key) const {
  const boost::json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number()) {
    fail_kind(*this, key, *value, "a number");
  }
  return value->to_number<double>();
}

std::optional<bool> JsonObject::find_bool(std::string_view key) const {
  const boost::json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_bool()) {
    fail_kind(*this, key, *value, "a bool");
  }
  return value->get_bool();
}

std::optional<std::string_view> JsonObject::find_string(std::string_view key) const {
  const boost::json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    fail_kind(*this, key, *value, "a string");
  }
  return std::string_view(value->get_string().data(), value->get_string().size());
}

std::optional<JsonObject> JsonObject::find_object(std::string_view key) const {
  const boost::json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    fail_kind(*this, key, *value, "an object");
  }
  return JsonObject(value->get_object(), origin_);
}

std::uint64_t JsonObject::get_u64(std::string_view key) const {
  const auto value = find_u64(key);
  if (!value) {
    fail_file(origin_, fmt::format("key {} is missing", in_quotes(key)));
  }
  return *value;
}

std::optional<std::uint64_t> json_u64(const boost::json::value& value) noexcept {
  if (value.is_uint64()) {
    return value.get_uint64();
  }
  if (value.is_int64() && value.get_int64() >= 0) {
    return static_cast<std::uint64_t>(value.get_int64());
  }
  if (value.is_double() && value.get_double() >= 0 && value.get_double() <= 0x1p53) {
    const auto whole = static_cast<std::uint64_t>(value.get_double());
    if (static_cast<double>(whole) == value.get_double()) {
      return whole;
    }
  }
  return std::nullopt;
}

}  // namespace baton
