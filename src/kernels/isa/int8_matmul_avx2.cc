#include "kernels/kernel_table.h"

namespace baton::kernels {

MatmulKernel avx2_int8_matmul(PackedFormat) noexcept {
  return nullptr;
}

}  // namespace baton::kernels
