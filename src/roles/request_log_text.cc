#include "roles/request_log_text.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace baton {
namespace {

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6));
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

// Reads the object from left to right; every member function gives false when the text is no such thing.
class JsonLine final {
 public:
  explicit JsonLine(std::string_view text) : text_(text) {}

  std::size_t place() const noexcept { return at_ + 1; }

  bool object(std::vector<JsonMember>& members) {
    if (!take('{')) {
      return false;
    }
    if (take('}')) {
      return at_end();
    }
    do {
      JsonMember member;
      if (!string(member.name) || !take(':') || !value(member)) {
        return false;
      }
      members.push_back(std::move(member));
    } while (take(','));
    return take('}') && at_end();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  bool take(char wanted) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  bool take_word(std::string_view word) {
    if (text_.substr(at_).starts_with(word)) {
      at_ += word.size();
      return true;
    }
    return false;
  }

  bool value(JsonMember& member) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '"') {
      member.kind = JsonMember::Kind::string;
      return string(member.value);
    }
    if (take_word("null")) {
      return true;
    }
    if (take_word("true") || take_word("false")) {
      member.kind = JsonMember::Kind::other;
      return true;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-.0123456789eE").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
    member.kind = JsonMember::Kind::number;
    member.value = text_.substr(begin, at_ - begin);
    return !member.value.empty();
  }

  bool string(std::string& out) {
    if (!take('"')) {
      return false;
    }
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out += text_[at_++];
      } else if (!escape(out)) {
        return false;
      }
    }
    return take('"');
  }

  bool escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (at_ >= text_.size()) {
      return false;
    }
    const char letter = text_[at_++];
    if (letter == 'u') {
      return code_point(out);
    }
    const std::size_t place = kLetters.find(letter);
    if (place != std::string_view::npos) {
      out += kMeanings[place];
    }
    return place != std::string_view::npos;
  }

  bool hex(std::uint32_t& unit) {
    const std::string_view digits = text_.substr(at_, 4);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    at_ += digits.size();
    return digits.size() == 4 && end.ec == std::errc() && end.ptr == digits.data() + 4;
  }

  // One \u escape, or the two of a surrogate pair.
  bool code_point(std::string& out) {
    std::uint32_t point = 0;
    if (!hex(point)) {
      return false;
    }
    if (point >= 0xD800 && point < 0xDC00) {
      std::uint32_t low = 0;
      if (!take_word("\\u") || !hex(low) || low < 0xDC00 || low > 0xDFFF) {
        return false;
      }
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, point);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool split_csv(std::string_view line, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return !quoted;
}

std::string split_json(std::string_view line, std::vector<JsonMember>& members) {
  members.clear();
  JsonLine reader(line);
  return reader.object(members) ? "" : fmt::format("no flat JSON object, wrong at column {}", reader.place());
}

}  // namespace baton
