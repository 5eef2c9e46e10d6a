// How the file readers refuse: Error(Errc::bad_file) with the file in front, and names from the file made harmless.
#pragma once

#include <string>
#include <string_view>

namespace baton {

// Throws Error(Errc::bad_file) saying "ORIGIN: MESSAGE".
[[noreturn]] void fail_file(const std::string& origin, const std::string& message);

// Text out of a file, for a terminal: control characters as \xNN.
std::string printable(std::string_view text);

// A name out of a file, for a message: printable, in single quotes, cut after 64 bytes.
std::string in_quotes(std::string_view text);

}  // namespace baton
