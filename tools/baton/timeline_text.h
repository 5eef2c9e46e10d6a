// How a request travelled, for people and for programs.
#pragma once

#include <string>

#include "roles/generation.h"

namespace baton {

// A table of the stages with their share of the total, the ranks, the hand-over, and the speeds. Ends in a newline.
std::string timeline_text(const FinishEvent& finish);

// The same numbers as one line of JSON, times in seconds, with the names that the HTTP interface uses.
std::string timeline_json(const FinishEvent& finish);

}  // namespace baton
