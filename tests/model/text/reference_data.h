// The expected results that tools/make_tokenizer_reference.py made, and the other files of tests/data/tokenizer.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "model/files/gguf.h"
#include "model/text/tokenizer.h"

namespace baton {

inline std::string reference_path(const std::string& name) {
  return "tests/data/tokenizer/" + name;
}

inline std::string reference_text(const std::string& name) {
  std::ifstream file(reference_path(name), std::ios::binary);
  REQUIRE_MESSAGE(file.good(), name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline boost::json::value reference_json(const std::string& name) {
  return boost::json::parse(reference_text(name));
}

inline std::vector<std::string> reference_texts() {
  return boost::json::value_to<std::vector<std::string>>(reference_json("texts.json"));
}

inline Tokenizer gguf_tokenizer(const std::string& name) {
  return Tokenizer(vocabulary_from_gguf(GgufFile::open(reference_path(name + ".gguf"))));
}

inline Tokenizer hf_tokenizer(const std::string& name) {
  const std::string text = reference_text(name + "-part.tokenizer.json");
  return Tokenizer(vocabulary_from_hf({text, {}, {}}));
}

}  // namespace baton
