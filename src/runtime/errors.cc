#include "runtime/errors.h"

namespace baton {
namespace {

class BatonCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "baton"; }
  std::string message(int value) const override { return to_string(static_cast<Errc>(value)); }
};

}  // namespace

const boost::system::error_category& baton_category() noexcept {
  static const BatonCategory category;
  return category;
}

const char* to_string(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_argument:
      return "invalid argument";
    case Errc::too_large:
      return "too large";
    case Errc::not_found:
      return "not found";
    case Errc::overloaded:
      return "overloaded";
    case Errc::unavailable:
      return "unavailable";
    case Errc::aborted:
      return "aborted";
    case Errc::timeout:
      return "timeout";
    case Errc::peer_lost:
      return "peer lost";
    case Errc::transfer_failed:
      return "transfer failed";
    case Errc::corrupt:
      return "corrupt";
    case Errc::bad_file:
      return "bad file";
    case Errc::internal:
      return "internal error";
  }
  return "unknown error";
}

unsigned http_status(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_argument:
    case Errc::too_large:
      return 400;
    case Errc::not_found:
      return 404;
    case Errc::overloaded:
      return 429;
    case Errc::unavailable:
      return 503;
    case Errc::aborted:
      return 499;
    case Errc::timeout:
      return 504;
    case Errc::peer_lost:
    case Errc::transfer_failed:
    case Errc::corrupt:
      return 502;
    case Errc::bad_file:
    case Errc::internal:
      return 500;
  }
  return 500;
}

Error::Error(Errc code, const std::string& message)
    : boost::system::system_error(make_error_code(code)), message_(message) {}

}  // namespace baton
