// Any text as tokenizer.json: it is a tokenizer that can encode and decode, or refused by Error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/text/tokenizer.h"
#include "model/text/vocabulary.h"
#include "runtime/errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const baton::Tokenizer tokenizer(baton::vocabulary_from_hf({text, {}, {}}));
    tokenizer.decode(tokenizer.encode("ab <s> \xC3\xA4 12", {.add_special = true, .parse_special = true}), false);
  } catch (const baton::Error&) {  // a refusal; anything else is a finding
  }
  return 0;
}
