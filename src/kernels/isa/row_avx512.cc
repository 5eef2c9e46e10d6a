#include "kernels/isa/row_body.h"

namespace baton::kernels {

const RowKernels& avx512_row_kernels() noexcept {
  return kRowKernels;
}

}  // namespace baton::kernels
