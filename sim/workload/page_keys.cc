#include "sim/workload/page_keys.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/random.h"

namespace baton::sim {
std::uint64_t chained(std::uint64_t chain, std::uint64_t value) noexcept {
  std::uint64_t state = value;
  state = splitmix64(state) ^ chain;
  return splitmix64(state);
}

std::uint64_t full_block_tokens(const TraceRequest& request) noexcept {
  const std::uint64_t block = request.block_tokens;
  if (block == 0) {
    return 0;
  }
  const std::uint64_t covered =
      std::uint64_t{request.input_tokens} + (request.blocks_of_output ? request.output_tokens : 0U);
  return std::min<std::uint64_t>(request.blocks.size(), covered / block) * block;
}

std::vector<std::uint64_t> page_keys(const TraceRequest& request, std::uint32_t page_tokens, std::uint64_t tokens) {
  BATON_CHECK(page_tokens > 0);
  const std::uint64_t pages = std::min(full_block_tokens(request), tokens) / page_tokens;
  std::vector<std::uint64_t> keys;
  keys.reserve(pages);
  std::uint64_t chain = request.block_tokens;
  std::size_t block = 0;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const std::uint64_t end = (page + 1) * page_tokens;
    for (; block * request.block_tokens < end; ++block) {
      chain = chained(chain, request.blocks[block]);
    }
    keys.push_back(chained(chain, page));
  }
  return keys;
}

std::vector<std::uint64_t> prompt_page_keys(const TraceRequest& request, std::uint32_t page_tokens) {
  return page_keys(request, page_tokens, request.input_tokens);
}

}  // namespace baton::sim
