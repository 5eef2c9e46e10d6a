#include "runtime/check.h"

#include <cstdio>
#include <cstdlib>

namespace baton::detail {

void check_failed(const char* expression, const std::string& values, const char* file, int line) noexcept {
  std::fprintf(stderr, "baton: check failed: %s%s at %s:%d\n", expression, values.c_str(), file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace baton::detail
