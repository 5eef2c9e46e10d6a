#include "model/text/utf8.h"

#include <algorithm>
#include <cstdint>

namespace baton {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What begins at the front of some bytes: a whole character, an ill-formed part, or a prefix of a character that the
// bytes end in. `bytes` is its length.
enum class Form : std::uint8_t { whole, ill_formed, cut };
struct Front {
  Form form;
  std::size_t bytes;
};

struct SecondByteRange {
  unsigned char low;
  unsigned char high;
};

// Unicode 15, table 3-7: only the second byte has bounds that depend on the first.
SecondByteRange second_byte_range(unsigned char first) {
  switch (first) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

std::size_t sequence_bytes(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xC2 || first > 0xF4) {
    return 0;
  }
  if (first < 0xE0) {
    return 2;
  }
  return first < 0xF0 ? 3 : 4;
}

Front front_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = sequence_bytes(first);
  if (length == 0) {
    return {Form::ill_formed, 1};
  }
  SecondByteRange range = second_byte_range(first);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) {
      return {Form::cut, i};
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < range.low || byte > range.high) {
      return {Form::ill_formed, i};
    }
    range = {0x80, 0xBF};
  }
  return {Form::whole, length};
}

// Appends the characters of text to out and returns how many bytes at its end are the prefix of a character.
std::size_t append_repaired(std::string_view text, std::string& out) {
  std::size_t run = 0;  // start of the well-formed run not yet copied
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Front front = front_of(text.substr(at));
    if (front.form == Form::cut) {
      break;
    }
    if (front.form == Form::ill_formed) {
      out.append(text, run, at - run);
      out += kReplacement;
      run = at + front.bytes;
    }
    at += front.bytes;
  }
  out.append(text, run, at - run);
  return text.size() - at;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Front front = front_of(text.substr(at));
    if (front.form != Form::whole) {
      return false;
    }
    at += front.bytes;
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Utf8Repair repair;
  repair.append(text, out);
  repair.finish(out);
  return out;
}

void Utf8Repair::append(std::string_view bytes, std::string& out) {
  // A kept prefix is at most three bytes; it is joined with the new bytes until it is decided.
  while (pending_count_ > 0 && !bytes.empty()) {
    pending_[pending_count_++] = bytes.front();
    bytes.remove_prefix(1);
    const Front front = front_of({pending_.data(), pending_count_});
    if (front.form == Form::cut) {
      continue;
    }
    if (front.form == Form::whole) {
      out.append(pending_.data(), front.bytes);
      pending_count_ = 0;
      break;
    }
    // Only the byte just added can have broken the sequence; it may begin another one.
    out += kReplacement;
    pending_count_ -= front.bytes;
    pending_[0] = pending_[front.bytes];
    if (pending_count_ == 0) {
      break;
    }
    const Front rest = front_of({pending_.data(), pending_count_});
    if (rest.form != Form::cut) {
      append_repaired({pending_.data(), pending_count_}, out);
      pending_count_ = 0;
    }
  }
  if (bytes.empty()) {
    return;
  }
  const std::size_t cut = append_repaired(bytes, out);
  std::copy(bytes.end() - static_cast<std::ptrdiff_t>(cut), bytes.end(), pending_.begin());
  pending_count_ = cut;
}

void Utf8Repair::finish(std::string& out) {
  if (pending_count_ > 0) {
    out += kReplacement;
    pending_count_ = 0;
  }
}

}  // namespace baton
