#include "roles/http/http_head.h"

#include <chrono>
#include <string>

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <doctest/doctest.h>

namespace baton {

namespace http = boost::beast::http;

TEST_CASE("Path of a target: query, fragment, escapes and the absolute form are understood") {
  CHECK(path_of_target("/v1/models") == "/v1/models");
  CHECK(path_of_target("/v1/models?x=1#y") == "/v1/models");
  CHECK(path_of_target("/v1/models/a%2Fb%20c") == "/v1/models/a/b c");
  CHECK(path_of_target("/%zz%4") == "/%zz%4");
  CHECK(path_of_target("/%ff") == "/\xef\xbf\xbd");
  CHECK(path_of_target("http://host:80/health") == "/health");
  CHECK(path_of_target("http://host") == "/");
  CHECK(path_of_target("*") == "*");
  CHECK(path_of_target("") == "");
}

TEST_CASE("Request ids: only harmless characters are echoed, and not too many") {
  CHECK(harmless_id("abc-123_x.y:z/") == "abc-123_x.y:z/");
  CHECK(harmless_id("a b\r\nX-Evil: 1\x01\xff") == "abX-Evil:1");
  CHECK(harmless_id(std::string(1000, 'a')).size() == 128);
  CHECK(harmless_id("").empty());
}

TEST_CASE("Response head: the fields the answer needs and no others") {
  HttpResponse response(503, "{}");
  response.retry_after = 5;
  CHECK(response_head(response, {"req-1", 11, false}) ==
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nX-Request-Id: req-1\r\n"
        "Retry-After: 5\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  HttpResponse options(204, "");
  options.allow = "GET";
  CHECK(response_head(options, {"", 10, true}) ==
        "HTTP/1.1 204 No Content\r\nAllow: GET\r\nConnection: keep-alive\r\n\r\n");
  CHECK(response_head(HttpResponse(499, ""), {"", 11, true}) ==
        "HTTP/1.1 499 Client Closed Request\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("Event: one chunk each, or bare for HTTP/1.0") {
  std::string text;
  append_event(text, "[DONE]", true);
  CHECK(text == "e\r\ndata: [DONE]\n\n\r\n");
  text.clear();
  append_event(text, "[DONE]", false);
  CHECK(text == "data: [DONE]\n\n");
}

TEST_CASE("Reading errors: what can be told is told with a status") {
  const HttpConfig config;
  const auto status = [&](boost::system::error_code error, bool late = false) {
    const auto reason = reading_error(error, late, config);
    return reason ? reason->status : 0U;
  };
  CHECK(status(http::error::end_of_stream) == 0);
  CHECK(status(boost::asio::error::connection_reset) == 0);
  CHECK(status(boost::asio::error::operation_aborted) == 0);
  CHECK(status(boost::asio::error::operation_aborted, true) == 408);
  CHECK(status(http::error::header_limit) == 431);
  CHECK(status(http::error::buffer_overflow) == 431);
  CHECK(status(http::error::body_limit) == 413);
  CHECK(status(http::error::bad_version) == 505);
  CHECK(status(http::error::bad_method) == 400);
  CHECK(status(http::error::partial_message) == 400);
}

TEST_CASE("Retry-After: whole seconds, rounded up, never zero") {
  CHECK(retry_after_seconds(std::chrono::milliseconds(1)) == 1);
  CHECK(retry_after_seconds(std::chrono::milliseconds(1001)) == 2);
  CHECK(retry_after_seconds(Duration::zero()) == 1);
}

}  // namespace baton
