// Which commit the program was built from.
#pragma once

namespace baton {

// "efc90bf", with "-dirty" behind it where the tree had changes; "unknown" where it was no checkout. In a file that is
// written anew at every build (commit.cmake).
extern const char* const kCommit;

}  // namespace baton
