// The Vec of the instruction set this translation unit is compiled for (see CMakeLists.txt). Rules: vector_avx2.h.
#pragma once

#include "kernels/isa/unroll.h"

#if defined(__AVX512F__)
#include "kernels/isa/vector_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "kernels/isa/vector_avx2.h"
#else
#include "kernels/isa/vector_portable.h"
#endif
