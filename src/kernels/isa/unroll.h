// BATON_UNROLL before a loop of few, constant rounds: arrays of vectors become registers only when every index is
// known at compile time. g++ and clang understand the pragma alike.
#pragma once

#define BATON_UNROLL _Pragma("GCC unroll 16")
