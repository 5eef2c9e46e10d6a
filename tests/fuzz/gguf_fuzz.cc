// Any bytes as a GGUF file: they are read or refused by Error, every value and tensor that was accepted can be walked,
// and a shape that was accepted is a valid one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/dequantize.h"
#include "model/files/gguf.h"
#include "model/files/model_companions.h"
#include "model/files/model_shape.h"
#include "runtime/errors.h"

namespace {

using namespace baton;

template <class Call>
void attempt(const Call& call) {
  try {
    call();
  } catch (const Error&) {  // a refusal; anything else is a finding
  }
}

void read_values(const GgufFile& file) {
  for (const std::string_view key : file.keys()) {
    attempt([&] { file.find_u64(key); });
    attempt([&] { file.find_i64(key); });
    attempt([&] { file.find_f64(key); });
    attempt([&] { file.find_bool(key); });
    attempt([&] { file.find_string(key); });
    attempt([&] { file.find_strings(key); });
    attempt([&] { file.find_i64s(key); });
    attempt([&] { file.find_f32s(key); });
  }
}

void read_tensors(const GgufFile& file) {
  std::vector<float> row;
  for (const GgufTensor& tensor : file.tensors()) {
    row.resize(tensor.dims[0]);
    dequantize_row(tensor.type, tensor.data.data(), row.size(), row.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const GgufFile file = GgufFile::parse(std::as_bytes(std::span(data, size)), "input");
    read_values(file);
    read_tensors(file);
    const ModelShape shape = shape_from_gguf(file);
    rope_frequencies(shape);
    companions_of_gguf(file, shape);
  });
  return 0;
}
