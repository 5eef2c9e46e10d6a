// Scripts: a Scenario as a TOML file, to keep, to edit and to send to somebody.
//
// A script that is written holds every setting, so that it stays the same run when defaults change. One that is read
// may leave out what is as in a fresh Scenario. Times are "1.5ms" (ns, us, ms, s) or whole microseconds, ranks
// "prefill/0", keys and large seeds hexadecimal words.
#pragma once

#include <string>
#include <string_view>

#include "sim/chaos/scenario.h"

namespace baton::chaos {

// `heading` becomes comment lines at the top.
std::string script_text(const Scenario& scenario, const std::string& heading = "");

// Throws Error(bad_file) for what is no TOML, Error(invalid_argument) for an unknown key, a wrong type, a number out of
// range and settings that contradict each other; the message begins with "NAME:LINE: KEY".
Scenario parse_script(std::string_view text, const std::string& name);

// Reads a file. Throws also Error(not_found) for one that cannot be read.
Scenario read_script(const std::string& path);

}  // namespace baton::chaos
