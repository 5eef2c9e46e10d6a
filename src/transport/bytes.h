// Writing and reading the byte form of messages: little-endian, no padding, every read checked against the end.
//
// A reader never throws and never runs past the end: after the first short read it stays failed, gives zeros, and the
// decoder asks ok() once at the end. Counts read from a message are checked against the bytes left before anything is
// allocated for them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace baton {

using Bytes = std::vector<std::byte>;

class ByteWriter final {
 public:
  template <std::unsigned_integral Int>
  void put(Int value) {
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xffU));
    }
  }
  void put_signed(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void put_float(float value) { put(std::bit_cast<std::uint32_t>(value)); }

  const Bytes& bytes() const noexcept { return bytes_; }
  Bytes take() noexcept { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class ByteReader final {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::unsigned_integral Int>
  Int get() {
    if (rest_.size() < sizeof(Int)) {
      ok_ = false;
      rest_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      value |= std::to_integer<std::uint64_t>(rest_[i]) << (8 * i);
    }
    rest_ = rest_.subspan(sizeof(Int));
    return static_cast<Int>(value);
  }
  std::int64_t get_signed() { return static_cast<std::int64_t>(get<std::uint64_t>()); }
  float get_float() { return std::bit_cast<float>(get<std::uint32_t>()); }

  // A count of items of item_bytes each that must still be in the message; fails, and gives 0, where they cannot be.
  std::uint32_t get_count(std::size_t item_bytes, std::uint32_t count_max) {
    const auto count = get<std::uint32_t>();
    if (count > count_max || count > rest_.size() / item_bytes) {
      ok_ = false;
      return 0;
    }
    return count;
  }

  bool ok() const noexcept { return ok_; }
  bool finished() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace baton
