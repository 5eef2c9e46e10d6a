// From the hash blocks of a trace to the pages of an engine.
//
// Traces name blocks of 16, 512 or 1,024 tokens; an engine shares pages of its own size. A page can be shared where all
// of it lies in blocks that are full, since a partial block's id says nothing about a longer text that begins the same.
//
//   tokens   0         512       1024  1300
//   blocks   |    a    |    b    |  c  |          c is partial
//   pages    | 0 | 1 | 2 | 3 | 4 |                of 200 tokens: five keys; pages 2 and 4 need a and b, page 5 c
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/request.h"

namespace baton::sim {

// Mixes a value into a chain: one step of splitmix64 over both. For ids of blocks as well.
std::uint64_t chained(std::uint64_t chain, std::uint64_t value) noexcept;

// The tokens at the start of a request's text that lie in full blocks: a multiple of block_tokens. 0 where the trace
// says nothing about prefixes.
std::uint64_t full_block_tokens(const TraceRequest& request) noexcept;

// One key for each page of `page_tokens` that lies wholly within the first `tokens` tokens and within full blocks, in
// order. Two requests with blocks of one size have equal n-th keys exactly when their blocks up to the end of that page
// are equal (but for collisions of 64 bits), so equal keys mean an equal prefix. page_tokens > 0.
std::vector<std::uint64_t> page_keys(const TraceRequest& request, std::uint32_t page_tokens, std::uint64_t tokens);

// The same for the prompt.
std::vector<std::uint64_t> prompt_page_keys(const TraceRequest& request, std::uint32_t page_tokens);

}  // namespace baton::sim
