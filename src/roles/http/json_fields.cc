#include "roles/http/json_fields.h"

#include <cmath>
#include <utility>

#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serializer.hpp>
#include <fmt/format.h>

#include "model/text/utf8.h"

namespace baton {

namespace json = boost::json;

namespace {

constexpr std::size_t kExcerptBytes = 60;

const char* kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      return "an object";
    case json::kind::array:
      return "a list";
    case json::kind::string:
      return "a string";
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    default:
      return "a number";
  }
}

}  // namespace

Parsed<json::object> parse_json_object(std::string_view body) {
  json::parse_options options;
  options.max_depth = 32;
  boost::system::error_code error;
  json::value value = json::parse({body.data(), body.size()}, error, {}, options);
  if (error) {
    return ApiError(400, fmt::format("the body is not valid JSON: {}", error.message()));
  }
  if (!value.is_object()) {
    return ApiError(400, fmt::format("the body must be a JSON object, got {}: {}", kind_name(value), excerpt(value)));
  }
  return std::move(value.get_object());
}

std::string excerpt(const json::value& value) {
  json::serializer serializer;
  serializer.reset(&value);
  char buffer[kExcerptBytes + 4];
  json::string_view head = serializer.read(buffer, kExcerptBytes);
  std::string text;
  Utf8Repair repair;  // drops a character that the bound cut in half
  repair.append({head.data(), head.size()}, text);
  if (!serializer.done()) {
    text += "...";
  }
  return text;
}

std::optional<std::int64_t> whole_number(const json::value& value) noexcept {
  if (const auto* number = value.if_int64()) {
    return *number;
  }
  const auto* real = value.if_double();
  constexpr double kExact = 9007199254740992.0;  // 2^53: every whole double below has an exact integer
  if (real != nullptr && std::abs(*real) <= kExact && std::trunc(*real) == *real) {
    return static_cast<std::int64_t>(*real);
  }
  return std::nullopt;
}

std::optional<std::vector<TokenId>> token_ids(const json::array& list, std::size_t below) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (const json::value& member : list) {
    const auto id = whole_number(member);
    if (!id || *id < 0 || static_cast<std::uint64_t>(*id) >= below) {
      return std::nullopt;
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

JsonFields::JsonFields(const json::object& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

const json::value* JsonFields::find(std::string_view name) const {
  if (failed()) {
    return nullptr;
  }
  const json::value* value = object_.if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

void JsonFields::boolean(std::string_view name, bool& out) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return;
  }
  if (!value->is_bool()) {
    return refuse(name, "be true or false");
  }
  out = value->get_bool();
}

void JsonFields::string(std::string_view name, std::string& out) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return;
  }
  if (!value->is_string()) {
    return refuse(name, "be a string");
  }
  out.assign(value->get_string().data(), value->get_string().size());
}

void JsonFields::number(std::string_view name, float least, float most, float& out) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return;
  }
  if (!value->is_number()) {
    return refuse(name, "be a number");
  }
  const double number = value->to_number<double>();
  if (!std::isfinite(number) || number < static_cast<double>(least) || number > static_cast<double>(most)) {
    if (most == std::numeric_limits<float>::max()) {
      return refuse(name, fmt::format("be a finite number of at least {}", least));
    }
    return refuse(name, fmt::format("be a number from {} to {}", least, most));
  }
  out = static_cast<float>(number);
}

void JsonFields::ids(std::string_view name, std::size_t count_max, std::size_t below, std::vector<TokenId>& out) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return;
  }
  if (!value->is_array() || value->get_array().size() > count_max) {
    return refuse(name, fmt::format("be a list of at most {} token ids", count_max));
  }
  auto ids = token_ids(value->get_array(), below);
  if (!ids) {
    return refuse(name, fmt::format("hold token ids from 0 to {} only", below - 1));
  }
  out = std::move(*ids);
}

void JsonFields::strings(std::string_view name, std::size_t count_max, std::vector<std::string>& out) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return;
  }
  if (value->is_string()) {
    out.assign(1, std::string(value->get_string()));
    return;
  }
  if (!value->is_array() || value->get_array().size() > count_max) {
    return refuse(name, fmt::format("be a string or a list of at most {} strings", count_max));
  }
  for (const json::value& member : value->get_array()) {
    if (!member.is_string()) {
      return refuse(name, "hold strings only");
    }
    out.emplace_back(member.get_string());
  }
}

void JsonFields::refuse(std::string_view name, std::string_view must) {
  if (failed()) {
    return;
  }
  const json::value* value = object_.if_contains({name.data(), name.size()});
  const std::string sent = value == nullptr ? std::string("nothing") : excerpt(*value);
  fail(name, fmt::format("{}{} must {}, got {}", prefix_, name, must, sent));
}

void JsonFields::fail(std::string_view name, std::string message) {
  fail_with(ApiError(400, std::move(message), prefix_ + std::string(name)));
}

void JsonFields::fail_with(ApiError error) {
  if (!failed()) {
    error_ = std::move(error);
  }
}

std::optional<std::int64_t> JsonFields::whole(std::string_view name, std::int64_t least, std::int64_t most) {
  const json::value* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto number = whole_number(*value);
  if (!number || *number < least || *number > most) {
    refuse(name, fmt::format("be a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

}  // namespace baton
