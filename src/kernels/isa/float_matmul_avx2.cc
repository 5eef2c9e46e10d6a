#include "kernels/isa/float_matmul_body.h"

namespace baton::kernels {

MatmulKernel avx2_float_matmul(PackedFormat format) noexcept {
  return float_kernel(format);
}

}  // namespace baton::kernels
