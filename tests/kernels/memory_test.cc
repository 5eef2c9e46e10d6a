#include <cstdint>
#include <new>
#include <utility>

#include <doctest/doctest.h>

#include "kernels/huge_buffer.h"
#include "kernels/scratch.h"

namespace baton::kernels {

TEST_CASE("HugeBuffer: is zero, aligned to its pages and movable") {
  HugeBuffer buffer(3'000'000);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2U << 20) == 0);
  CHECK(buffer.size() == 3'000'000);
  CHECK(buffer.data()[2'999'999] == std::byte{0});
  std::byte* data = buffer.data();
  HugeBuffer other = std::move(buffer);
  CHECK(other.data() == data);
  CHECK(buffer.data() == nullptr);
  CHECK(HugeBuffer(0).data() == nullptr);
  CHECK_THROWS_AS(HugeBuffer(SIZE_MAX - 5), std::bad_alloc);
}

TEST_CASE("Scratch: pieces are aligned, apart, and stay where they are while it grows") {
  Scratch scratch;
  std::byte* first = scratch.take(100);
  first[99] = std::byte{7};
  std::byte* second = scratch.take(1);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(second == first + 128);
  std::byte* large = scratch.take(10 << 20);
  large[0] = std::byte{1};
  CHECK(first[99] == std::byte{7});
}

TEST_CASE("Scratch: release ends the pieces since the mark, reset ends all and needs no new memory") {
  Scratch scratch;
  scratch.take(64);
  const auto mark = scratch.mark();
  std::byte* second = scratch.take(64);
  scratch.take(5 << 20);
  scratch.release(mark);
  CHECK(scratch.take(64) == second);
  scratch.take(5 << 20);
  scratch.reset();
  std::byte* once = scratch.take(5 << 20);
  scratch.reset();
  CHECK(scratch.take(5 << 20) == once);
}

}  // namespace baton::kernels
