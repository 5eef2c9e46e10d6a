// What a refusal says.
#pragma once

#include <string>

#include "runtime/errors.h"

namespace baton::sim {

// The message of the Error that `action` throws; empty: it threw none.
template <class Action>
std::string error_text(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace baton::sim
