// GPT-2's alphabet for bytes: every byte is one printable character, so that a vocabulary file holds no control bytes.
//
// Bytes 33..126, 161..172 and 174..255 are the characters of the same number; the other 68 follow from U+0100 on in
// ascending order. Source: openai/gpt-2, src/encoder.py, bytes_to_unicode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

// The byte that a character of the alphabet stands for; nullopt for other characters.
std::optional<unsigned char> byte_of_alphabet(char32_t character) noexcept;

// Text of the alphabet to the bytes it stands for. Characters outside of the alphabet stand for their own UTF-8 bytes.
std::string bytes_of_alphabet(std::string_view text);

// The inverse: any bytes as text of the alphabet, in UTF-8.
std::string alphabet_of_bytes(std::string_view bytes);

}  // namespace baton
