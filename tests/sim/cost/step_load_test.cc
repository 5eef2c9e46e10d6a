#include "sim/cost/step_load.h"

#include <doctest/doctest.h>

namespace baton::sim {
namespace {

TEST_CASE("StepLoad: a prompt in chunks has the pairs of the whole prompt") {
  StepLoad whole;
  whole.add_prefill(2048, 0, true);
  CHECK(whole.prefill_pairs == 2048.0 * 2049 / 2);

  StepLoad chunks;
  chunks.add_prefill(1000, 0, false);
  chunks.add_prefill(1048, 1000, true);
  CHECK(chunks.prefill_pairs == whole.prefill_pairs);
  CHECK(chunks.prefill_tokens == whole.prefill_tokens);
  CHECK(chunks.prefill_context == 1000);
  CHECK(chunks.sampled == 1);
}

TEST_CASE("StepLoad: a grown batch is the batch added up anew") {
  StepLoad grown;
  for (std::uint32_t i = 0; i < 64; ++i) {
    grown.add_decode(100 + 7 * i);
  }
  for (int round = 0; round < 30; ++round) {
    grown.grow_decode();
  }
  StepLoad anew;
  for (std::uint32_t i = 0; i < 64; ++i) {
    anew.add_decode(130 + 7 * i);
  }
  CHECK(grown == anew);
}

TEST_CASE("StepLoad: an empty batch does not grow") {
  StepLoad load;
  load.grow_decode();
  CHECK(load == StepLoad{});
  CHECK(load.empty());
}

TEST_CASE("StepLoad: verified drafts are rows that need logits") {
  StepLoad load;
  load.add_decode(10, 3);
  load.add_decode(20, 3);
  CHECK(load.decode_tokens == 6);
  CHECK(load.sampled == 6);
  CHECK(load.decode_context == 30);
  CHECK(load.decode_context_min == 10);
  CHECK(load.decode_context_max == 20);
}

}  // namespace
}  // namespace baton::sim
