#include "kernels/isa/row_body.h"

namespace baton::kernels {

const RowKernels& portable_row_kernels() noexcept {
  return kRowKernels;
}

}  // namespace baton::kernels
