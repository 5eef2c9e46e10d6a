// Which instruction set the kernels use. Chosen once at run time; the packed weight formats depend on it (see
// packed_matrix.h), so one process uses one value for packing and computing.
#pragma once

#include <cstdint>

namespace baton::kernels {

enum class Isa : std::uint8_t {
  portable,  // plain C++, any machine
  avx2,      // AVX2, FMA and F16C
  avx512,    // AVX-512 F, BW, VL, DQ and VNNI
};

const char* to_string(Isa isa) noexcept;

// The best instruction set of this machine for which kernels were compiled in. Thread-safe, cheap.
Isa host_isa() noexcept;

}  // namespace baton::kernels
