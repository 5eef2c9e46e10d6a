// BATON_CHECK(condition, values...): a precondition or invariant. On in every build; prints the expression, the
// values and the place, then aborts. For bugs only: bad input gets an Error or a Failure.
#pragma once

#include <string>

#include <fmt/format.h>

namespace baton::detail {

[[noreturn]] void check_failed(const char* expression, const std::string& values, const char* file, int line) noexcept;

template <class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void check_failed_with(const char* expression, const char* file, int line,
                                                              const char* names, const Values&... values) noexcept {
  std::string text;
  ((text += fmt::format(" {}", values)), ...);
  if (!text.empty()) {
    text = fmt::format(" [{}] ={}", names, text);
  }
  check_failed(expression, text, file, line);
}

}  // namespace baton::detail

#define BATON_CHECK(condition, ...)                                                                                \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]] {                                                                               \
      ::baton::detail::check_failed_with(#condition, __FILE__, __LINE__, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                                              \
  } while (false)
