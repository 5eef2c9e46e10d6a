// Passes over one row of logits: maximum, first position of a value, sums of exponentials.
//
// Written in a fixed number of lanes so that compilers vectorise them and every one of them adds in the same order; the
// file is compiled without contraction of multiply and add. Plain elementary arithmetic only: the same bits on every
// machine of one architecture. NaN counts as minus infinity.
#pragma once

#include <span>

#include "runtime/ids.h"

namespace baton {

// Minus infinity if there is nothing above it.
float row_max(std::span<const float> row);

// The first position that holds exactly this value; it must be there.
TokenId row_find(std::span<const float> row, float value);

// out[i] = exp((row[i] - highest) * scale), as many as in row; returns their sum. highest must be finite and at least
// every value, scale positive.
double row_exp(std::span<const float> row, float highest, float scale, std::span<float> out);

// The same sum with scale 1, without keeping the terms.
double row_sum_exp(std::span<const float> row, float highest);

// exp(x) for x <= 0, relative error below 3e-7; 0 below -87 and for NaN.
float exp_not_positive(float x);

}  // namespace baton
