#include "roles/http/api_error.h"

#include "model/text/utf8.h"
#include "roles/http/json_writer.h"

namespace baton {

ApiError to_api_error(const Failure& failure) {
  std::string message = failure.message.empty() ? std::string(to_string(failure.code)) : failure.message;
  return {http_status(failure.code), repaired_utf8(message)};
}

const char* error_type(unsigned status) noexcept {
  switch (status) {
    case 401:
      return "AuthenticationError";
    case 404:
      return "NotFoundError";
    case 405:
      return "MethodNotAllowedError";
    case 408:
    case 504:
      return "TimeoutError";
    case 413:
    case 431:
      return "RequestTooLargeError";
    case 429:
      return "RateLimitError";
    case 499:
      return "AbortedError";
    case 501:
      return "NotImplementedError";
    case 502:
      return "BadGatewayError";
    case 503:
      return "ServiceUnavailableError";
    default:
      return status >= 500 ? "InternalServerError" : "BadRequestError";
  }
}

std::string error_body(const ApiError& error) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("error").begin_object();
  json.key("message").string(error.message);
  json.key("type").string(error_type(error.status));
  json.key("param");
  if (error.param.empty()) {
    json.null();
  } else {
    json.string(error.param);
  }
  json.key("code").number(error.status);
  json.end_object().end_object();
  return text;
}

}  // namespace baton
