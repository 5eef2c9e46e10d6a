// Any bytes as a safetensors file: they are read or refused by Error, and the tensors that were accepted lie inside.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "model/files/safetensors.h"
#include "runtime/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const auto file = baton::SafetensorsFile::parse(bytes, "input");
    std::size_t covered = 0;
    for (const auto& tensor : file.tensors()) {
      covered += tensor.data.size();
      if (file.find_tensor(tensor.name) == nullptr) {
        std::abort();
      }
    }
    if (covered > size) {
      std::abort();
    }
  } catch (const baton::Error&) {  // a refusal; anything else is a finding
  }
  return 0;
}
