// Files for the tests of the readers: a folder that goes away, and images of GGUF and safetensors files made by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "model/files/gguf.h"
#include "runtime/errors.h"

namespace baton::test {

// A new empty folder under the system's temporary one, removed with all that is in it.
class TemporaryFolder final {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return path_; }

  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// The message of the Error(bad_file) that the call throws; another code comes first, "nothing was thrown" otherwise.
template <class Call>
std::string bad_file_message(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.errc() == Errc::bad_file ? error.what() : std::string(to_string(error.errc())) + ": " + error.what();
  }
  return "nothing was thrown";
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Bytes of a GGUF file, put down one after another; nothing is checked, so that wrong files can be made too.
class GgufImage final {
 public:
  template <class Number>
  GgufImage& number(Number value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
    return *this;
  }
  GgufImage& u32(std::uint32_t value) { return number(value); }
  GgufImage& u64(std::uint64_t value) { return number(value); }
  GgufImage& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  GgufImage& string(std::string_view text) { return u64(text.size()).raw(text); }
  GgufImage& head(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(values);
  }
  GgufImage& key(std::string_view name, GgufKind kind) { return string(name).u32(static_cast<std::uint32_t>(kind)); }
  GgufImage& array(std::string_view name, GgufKind element, std::uint64_t count) {
    return key(name, GgufKind::array).u32(static_cast<std::uint32_t>(element)).u64(count);
  }
  GgufImage& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                    std::uint64_t offset) {
    string(name).u32(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) {
      u64(dim);
    }
    return u32(type).u64(offset);
  }
  GgufImage& pad(std::size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  GgufImage& zeros(std::size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }

  const std::string& bytes() const noexcept { return bytes_; }
  GgufFile parse() const { return GgufFile::parse(bytes_of(bytes_), "image"); }  // this image must outlive the result

 private:
  std::string bytes_;
};

// A safetensors file: the header's text, its length before it, the data after it.
inline std::string safetensors_image(const std::string& header, std::string_view data) {
  const std::uint64_t length = header.size();
  char raw[sizeof length];
  std::memcpy(raw, &length, sizeof length);
  return std::string(raw, sizeof length) + header + std::string(data);
}

}  // namespace baton::test
