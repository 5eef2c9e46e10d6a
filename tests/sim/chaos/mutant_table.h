// Which case catches which mutant, and in which profile the explorer finds it.
#pragma once

#include "runtime/mutants.h"

namespace baton::chaos {

struct MutantEntry {
  Mutant mutant;
  const char* name;
  const char* caught_by;  // the beginning of a NamedCase's name, up to the colon: "T1"
  const char* profile;    // where the explorer meets it
};

#define BATON_ENTRY(mutant, caught_by, profile) {Mutant::mutant, #mutant, caught_by, profile}

inline constexpr MutantEntry kMutants[] = {
    BATON_ENTRY(abandon_frees_pages, "T1", "writes"),
    BATON_ENTRY(pinned_pages_return, "T1", "writes"),
};

#undef BATON_ENTRY

}  // namespace baton::chaos
