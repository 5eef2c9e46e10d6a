// The text around bodies: status lines, header fields, chunks of an event stream. Pure functions.
//
// Requests are parsed by Beast; what is sent is written here, because it is a handful of fixed lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/error_code.hpp>

#include "roles/http/api_error.h"
#include "roles/http/http_config.h"
#include "roles/http/http_message.h"
#include "runtime/time.h"

namespace baton {

struct HeadOptions {
  std::string_view request_id;
  unsigned version = 11;  // 10: the client speaks HTTP/1.0
  bool keep_alive = true;
};

// Status line and header fields up to the blank line.
std::string response_head(const HttpResponse& response, const HeadOptions& options);
// The same for a stream of events, in chunks where the client knows them (HTTP/1.1).
std::string event_stream_head(const HeadOptions& options);

// One event as one chunk; without the chunk's frame for HTTP/1.0.
void append_event(std::string& out, std::string_view data, bool chunked);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The path of a request target, percent-decoded, without query and fragment; "*" stays. Bytes that would make it
// invalid UTF-8 are replaced.
std::string path_of_target(std::string_view target);

// The client's id with all but letters, digits and "-_.:/" left out, at most 128 bytes: it goes into headers and logs.
std::string harmless_id(std::string_view id);

// What to tell a client whose request could not be read; nothing where the connection has simply ended. `late`: the
// deadline passed in the middle of the request.
std::optional<ApiError> reading_error(boost::system::error_code error, bool late, const HttpConfig& config);

// At least one: zero would invite the client to come back at once.
std::int64_t retry_after_seconds(Duration duration) noexcept;

}  // namespace baton
