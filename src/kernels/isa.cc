#include "kernels/isa.h"

namespace baton::kernels {

const char* to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

Isa host_isa() noexcept {
#if defined(__x86_64__)
  const bool avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("f16c") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                      __builtin_cpu_supports("avx512vnni") != 0;
  if (avx2) {
    return avx512 ? Isa::avx512 : Isa::avx2;
  }
#endif
  return Isa::portable;
}

}  // namespace baton::kernels
