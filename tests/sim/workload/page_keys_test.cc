#include "sim/workload/page_keys.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/random.h"

namespace {

using namespace baton;
using namespace baton::sim;

TraceRequest request_of(std::uint32_t input, std::vector<std::uint64_t> blocks, std::uint32_t block_tokens) {
  TraceRequest request;
  request.input_tokens = input;
  request.output_tokens = 10;
  request.blocks = std::move(blocks);
  request.block_tokens = block_tokens;
  return request;
}

// What a key stands for, said with words instead of hashes: the blocks up to the end of the page.
std::vector<std::vector<std::uint64_t>> naive_pages(const TraceRequest& request, std::uint32_t page_tokens) {
  std::vector<std::vector<std::uint64_t>> pages;
  for (std::uint64_t end = page_tokens; end <= request.input_tokens; end += page_tokens) {
    std::vector<std::uint64_t> prefix;
    for (std::uint64_t token = 0; token < end; ++token) {
      const std::uint64_t block = token / request.block_tokens;
      const bool is_full = (block + 1) * request.block_tokens <= request.input_tokens && block < request.blocks.size();
      if (!is_full) {
        return pages;
      }
      if (token % request.block_tokens == 0) {
        prefix.push_back(request.blocks[block]);
      }
    }
    pages.push_back(std::move(prefix));
  }
  return pages;
}

TEST_CASE("page_keys: a page within one block, of several blocks, and across a border") {
  const TraceRequest request = request_of(1300, {7, 8, 9}, 512);
  CHECK(full_block_tokens(request) == 1024);
  CHECK(prompt_page_keys(request, 16).size() == 64);
  CHECK(prompt_page_keys(request, 512).size() == 2);
  CHECK(prompt_page_keys(request, 1024).size() == 1);
  CHECK(prompt_page_keys(request, 2048).empty());
  CHECK(prompt_page_keys(request, 200).size() == 5);
}

TEST_CASE("page_keys: a partial last block is never shared") {
  const TraceRequest one = request_of(600, {1, 2}, 512);
  const TraceRequest same = request_of(600, {1, 2}, 512);
  CHECK(prompt_page_keys(one, 512) == prompt_page_keys(same, 512));
  CHECK(prompt_page_keys(one, 512).size() == 1);
  CHECK(prompt_page_keys(one, 64).size() == 8);
}

TEST_CASE("page_keys: blocks of the output fill the block that the prompt left open") {
  TraceRequest request = request_of(20, {1, 2, 3}, 16);
  request.output_tokens = 14;
  request.blocks_of_output = true;
  CHECK(full_block_tokens(request) == 32);
  CHECK(page_keys(request, 16, 34).size() == 2);
  CHECK(prompt_page_keys(request, 16).size() == 1);
}

TEST_CASE("page_keys: without blocks there are none") {
  CHECK(prompt_page_keys(request_of(1000, {}, 0), 16).empty());
  CHECK(prompt_page_keys(request_of(1000, {}, 512), 16).empty());
}

TEST_CASE("page_keys: a list of blocks shorter than the prompt shares what it names") {
  CHECK(prompt_page_keys(request_of(2000, {5}, 512), 256).size() == 2);
}

TEST_CASE("page_keys: equal keys exactly for equal blocks up to the page's end") {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    const auto block = static_cast<std::uint32_t>(1 + random.uniform(40));
    const auto page = static_cast<std::uint32_t>(1 + random.uniform(60));
    std::map<std::uint64_t, std::pair<std::size_t, std::vector<std::uint64_t>>> meaning;
    for (int i = 0; i < 20; ++i) {
      const auto input = static_cast<std::uint32_t>(1 + random.uniform(200));
      std::vector<std::uint64_t> blocks;
      for (std::uint32_t begin = 0; begin < input; begin += block) {
        blocks.push_back(random.uniform(3));
      }
      const TraceRequest request = request_of(input, blocks, block);
      const auto keys = prompt_page_keys(request, page);
      const auto pages = naive_pages(request, page);
      REQUIRE(keys.size() == pages.size());
      for (std::size_t n = 0; n < keys.size(); ++n) {
        const auto known = meaning.emplace(keys[n], std::make_pair(n, pages[n])).first;
        REQUIRE(known->second == std::make_pair(n, pages[n]));
      }
    }
    std::map<std::pair<std::size_t, std::vector<std::uint64_t>>, std::uint64_t> key_of;
    for (const auto& [key, what] : meaning) {
      REQUIRE(key_of.emplace(what, key).second);
    }
  }
}

}  // namespace
