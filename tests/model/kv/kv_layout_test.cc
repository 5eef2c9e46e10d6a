#include "model/kv/kv_layout.h"

#include <set>

#include <doctest/doctest.h>

namespace baton {
namespace {

KvLayout small_layout() {
  KvLayout layout;
  layout.layers = 30;
  layout.kv_heads = 3;
  layout.head_dim = 64;
  layout.page_tokens = 16;
  return layout;
}

TEST_CASE("KvLayout: sizes follow from the dimensions") {
  const KvLayout layout = small_layout();
  CHECK(layout.token_bytes() == 2U * 30 * 3 * 64 * 2);
  CHECK(layout.page_bytes() == 16U * layout.token_bytes());
  CHECK(layout.pages_for(0) == 0);
  CHECK(layout.pages_for(1) == 1);
  CHECK(layout.pages_for(16) == 1);
  CHECK(layout.pages_for(17) == 2);
}

TEST_CASE("KvLayout: every field changes the fingerprint") {
  const KvLayout base = small_layout();
  std::set<std::uint64_t> seen{base.fingerprint()};
  for (std::uint32_t KvLayout::* field :
       {&KvLayout::layers, &KvLayout::kv_heads, &KvLayout::head_dim, &KvLayout::page_tokens}) {
    KvLayout other = base;
    other.*field += 1;
    CHECK(seen.insert(other.fingerprint()).second);
  }
  KvLayout other = base;
  other.type = KvType::f32;
  CHECK(seen.insert(other.fingerprint()).second);
  CHECK(small_layout().fingerprint() == base.fingerprint());
}

TEST_CASE("KvLayout: the fingerprint is the same in every build, because two nodes compare it") {
  CHECK(small_layout().fingerprint() == 16121864876525003313U);
}

TEST_CASE("KvLayout: a description names what must match") {
  CHECK(describe(small_layout()) == "30 layers, 3 kv heads of 64, f16, pages of 16");
}

}  // namespace
}  // namespace baton
