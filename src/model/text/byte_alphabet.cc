#include "model/text/byte_alphabet.h"

#include <array>
#include <cstddef>

namespace baton {

namespace {

constexpr char32_t kFirstShifted = 0x100;
constexpr std::size_t kShiftedCount = 68;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<unsigned char, kShiftedCount> shifted_bytes() {
  std::array<unsigned char, kShiftedCount> bytes{};
  std::size_t count = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!stands_for_itself(byte)) {
      bytes[count++] = static_cast<unsigned char>(byte);
    }
  }
  return bytes;
}

constexpr auto kShiftedBytes = shifted_bytes();

// The alphabet's characters all lie below U+0144: one or two bytes of UTF-8. Anything else is not of the alphabet.
struct Character {
  char32_t value;
  std::size_t bytes;
};

Character front_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) {
    return {first, 1};
  }
  if (first >= 0xC2 && first < 0xE0 && text.size() >= 2) {
    const auto second = static_cast<unsigned char>(text[1]);
    if ((second & 0xC0U) == 0x80U) {
      return {static_cast<char32_t>(((first & 0x1FU) << 6U) | (second & 0x3FU)), 2};
    }
  }
  return {0, 1};
}

}  // namespace

std::optional<unsigned char> byte_of_alphabet(char32_t character) noexcept {
  if (character < 256 && stands_for_itself(static_cast<unsigned>(character))) {
    return static_cast<unsigned char>(character);
  }
  if (character >= kFirstShifted && character < kFirstShifted + kShiftedCount) {
    return kShiftedBytes[character - kFirstShifted];
  }
  return std::nullopt;
}

std::string bytes_of_alphabet(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = front_character(text);
    if (const auto byte = byte_of_alphabet(character.value)) {
      out += static_cast<char>(*byte);
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::string alphabet_of_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  std::array<char32_t, 256> characters{};
  char32_t next = kFirstShifted;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  for (const char c : bytes) {
    const char32_t character = characters[static_cast<unsigned char>(c)];
    if (character < 0x80) {
      out += static_cast<char>(character);
    } else {
      out += static_cast<char>(0xC0U | (character >> 6U));
      out += static_cast<char>(0x80U | (character & 0x3FU));
    }
  }
  return out;
}

}  // namespace baton
