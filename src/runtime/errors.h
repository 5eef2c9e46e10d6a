// How baton says that something failed.
//
// A caller that must branch gets a Result. What ends a request or a node travels as a Failure: the code, who found
// it, and words for a person. A broken precondition is a bug and stops the program with the values that broke it
// (check.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <boost/system/system_error.hpp>

namespace baton {

enum class Errc : std::uint8_t {
  invalid_argument = 1,  // the client asked for something that has no meaning: 400
  too_large,             // the request can never fit (prompt, pool, limits): 400
  not_found,             // no such model or endpoint: 404
  overloaded,            // a bounded queue or pool is full now, later may work: 429
  unavailable,           // no usable rank, starting or draining: 503
  aborted,               // the client or an operator ended it: 499
  timeout,               // the shared deadline passed: 504
  peer_lost,             // the other leg died or was replaced: 502
  transfer_failed,       // a write of the hand-over failed: 502
  corrupt,               // data failed its checksum, identity or format: 502
  bad_file,              // a model, tokenizer or configuration file is not what it claims to be
  internal,              // a fault of baton's own, contained to one request: 500
};

const boost::system::error_category& baton_category() noexcept;

inline boost::system::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), baton_category()};
}

const char* to_string(Errc code) noexcept;
unsigned http_status(Errc code) noexcept;  // the status of an error body on the wire

// Why a request ended badly: the first cause wins and keeps its origin.
struct Failure {
  Errc code = Errc::internal;
  std::string origin;   // who found it: "decode/1", "router", "http"
  std::string message;  // one sentence with the numbers in it

  Failure() = default;
  Failure(Errc code_in, std::string origin_in, std::string message_in)
      : code(code_in), origin(std::move(origin_in)), message(std::move(message_in)) {}
};

// Thrown where no caller on the way can do better than to end: bad files, bad configuration. what() is the message.
class Error : public boost::system::system_error {
 public:
  Error(Errc code, const std::string& message);
  Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

template <class T = void>
using Result = boost::system::result<T>;

}  // namespace baton

namespace boost::system {
template <>
struct is_error_code_enum<baton::Errc> : std::true_type {};
}  // namespace boost::system
