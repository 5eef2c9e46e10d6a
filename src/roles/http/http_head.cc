#include "roles/http/http_head.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "model/text/utf8.h"

namespace baton {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t kIdBytesMax = 128;

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string_view reason(unsigned status) {
  if (status == 499) {
    return "Client Closed Request";  // nginx's word; the registry has none
  }
  const auto text = http::obsolete_reason(http::int_to_status(status));
  return {text.data(), text.size()};
}

std::string head_start(unsigned status, std::string_view content_type, const HeadOptions& options) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason(status));
  if (!content_type.empty()) {
    fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\n", content_type);
  }
  if (!options.request_id.empty()) {
    fmt::format_to(std::back_inserter(head), "X-Request-Id: {}\r\n", options.request_id);
  }
  return head;
}

void finish_head(std::string& head, const HeadOptions& options) {
  if (!options.keep_alive) {
    head += "Connection: close\r\n";
  } else if (options.version < 11) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
}

bool is_id_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':' || c == '/';
}

}  // namespace

std::string response_head(const HttpResponse& response, const HeadOptions& options) {
  std::string head = head_start(response.status, response.body.empty() ? "" : response.content_type, options);
  if (response.retry_after) {
    fmt::format_to(std::back_inserter(head), "Retry-After: {}\r\n", *response.retry_after);
  }
  if (!response.allow.empty()) {
    fmt::format_to(std::back_inserter(head), "Allow: {}\r\n", response.allow);
  }
  if (response.status != 204) {  // which has no body and must not state a length (RFC 9110, section 8.6)
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", response.body.size());
  }
  finish_head(head, options);
  return head;
}

std::string event_stream_head(const HeadOptions& options) {
  std::string head = head_start(200, "text/event-stream", options);
  head += "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  if (options.version >= 11) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  finish_head(head, options);
  return head;
}

void append_event(std::string& out, std::string_view data, bool chunked) {
  constexpr std::string_view kPrefix = "data: ";
  if (chunked) {
    fmt::format_to(std::back_inserter(out), "{:x}\r\n", kPrefix.size() + data.size() + 2);
  }
  out.append(kPrefix).append(data).append("\n\n");
  if (chunked) {
    out += "\r\n";
  }
}

std::string path_of_target(std::string_view target) {
  if (const auto scheme = target.find("://"); scheme != std::string_view::npos && !target.starts_with('/')) {
    const auto slash = target.find('/', scheme + 3);  // the absolute form of RFC 9112, section 3.2.2
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  target = target.substr(0, target.find_first_of("?#"));
  std::string path;
  path.reserve(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool escaped =
        target[i] == '%' && i + 2 < target.size() && hex_digit(target[i + 1]) >= 0 && hex_digit(target[i + 2]) >= 0;
    if (escaped) {
      path += static_cast<char>(hex_digit(target[i + 1]) * 16 + hex_digit(target[i + 2]));
      i += 2;
    } else {
      path += target[i];
    }
  }
  return repaired_utf8(path);
}

std::string harmless_id(std::string_view id) {
  std::string harmless;
  for (const char c : id) {
    if (is_id_character(c) && harmless.size() < kIdBytesMax) {
      harmless += c;
    }
  }
  return harmless;
}

std::optional<ApiError> reading_error(boost::system::error_code error, bool late, const HttpConfig& config) {
  if (late) {
    return ApiError(408, "the request did not arrive in time");
  }
  if (error == http::error::end_of_stream ||
      error.category() != http::make_error_code(http::error::end_of_stream).category()) {
    return std::nullopt;
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return ApiError(431, fmt::format("the header fields are larger than {} bytes", config.header_bytes_max));
  }
  if (error == http::error::body_limit) {
    return ApiError(413, fmt::format("the body is larger than {} bytes", config.body_bytes_max));
  }
  if (error == http::error::bad_version) {
    return ApiError(505, "the version must be HTTP/1.0 or HTTP/1.1");
  }
  return ApiError(400, fmt::format("the request is not valid HTTP: {}", error.message()));
}

std::int64_t retry_after_seconds(Duration duration) noexcept {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count());
}

}  // namespace baton
