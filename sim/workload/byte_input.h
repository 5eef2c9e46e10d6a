// Where the bytes of a trace come from: a file or memory, with gzip undone where the first two bytes say so (RFC 1952).
//
// Owner: the reader above it. Single thread. Reads in order, never seeks, so that a pipe will do.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace baton::sim {

class ByteInput {
 public:
  virtual ~ByteInput() = default;

  // Fills the front of `into`, which is not empty; 0 only at the end. Throws Error(bad_file) when reading fails or what
  // was compressed is torn or not gzip all the way.
  virtual std::size_t read(std::span<char> into) = 0;

  virtual const std::string& name() const noexcept = 0;  // for messages
};

// Throws Error(not_found) when the file cannot be opened.
std::unique_ptr<ByteInput> open_input(const std::string& path);

// The text must outlive the input.
std::unique_ptr<ByteInput> input_of_text(std::string_view text, std::string name);

}  // namespace baton::sim
