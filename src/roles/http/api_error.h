// What a client is told when its request is refused or fails, in the shape of vLLM's error body:
//
//   {"error":{"message":"...","type":"BadRequestError","param":"n","code":400}}
//
// `code` is the HTTP status. SDKs read message, type and code; param is null where no field is to blame.
#pragma once

#include <string>
#include <utility>

#include <boost/system/result.hpp>

#include "runtime/errors.h"

namespace baton {

struct ApiError {
  unsigned status = 500;
  std::string message;  // valid UTF-8
  std::string param;    // the field to blame; empty: none

  ApiError() = default;
  ApiError(unsigned status_in, std::string message_in, std::string param_in = {})
      : status(status_in), message(std::move(message_in)), param(std::move(param_in)) {}
};

// A failed generation as its client sees it: the status of the code, the message, and never the origin's internals.
ApiError to_api_error(const Failure& failure);

// The word SDKs know the status by: "BadRequestError", "NotFoundError", ...
const char* error_type(unsigned status) noexcept;

// The body above, without a line end: for answers and for error events of a stream alike.
std::string error_body(const ApiError& error);

// A parsed request or the reason why it is none.
template <class T>
using Parsed = boost::system::result<T, ApiError>;

}  // namespace baton
