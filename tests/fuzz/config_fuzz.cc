// Any text as config.json: it is a shape that an engine can use, or refused by Error.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/files/model_shape.h"
#include "model/files/model_source.h"
#include "runtime/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto shape = baton::shape_from_config({reinterpret_cast<const char*>(data), size}, "input");
    for (const float frequency : baton::rope_frequencies(shape)) {
      if (std::isnan(frequency)) {
        std::abort();
      }
    }
    for (const auto& tensor : baton::required_tensors(shape)) {
      if (tensor.cols == 0 || baton::gguf_tensor_name(tensor.name).empty()) {
        std::abort();
      }
    }
  } catch (const baton::Error&) {  // a refusal; anything else is a finding
  }
  return 0;
}
