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
    // model/kv
    BATON_ENTRY(pinned_pages_return, "T1", "writes"),
    BATON_ENTRY(given_page_stays_free, "M8", "calm"),
    // transport: the target's account
    BATON_ENTRY(abandon_frees_pages, "T1", "writes"),
    BATON_ENTRY(failed_frees_pages, "M5", "all"),
    BATON_ENTRY(success_without_all_writes, "M2", "network"),
    BATON_ENTRY(duplicate_writes_count, "M1", "all"),
    BATON_ENTRY(closed_keeps_quarantine, "M11", "clients"),
    BATON_ENTRY(peer_gone_without_fence, "M7", "crashes"),
    BATON_ENTRY(no_quarantine_probe, "M10", "all"),
    BATON_ENTRY(no_repeated_success, "M12", "network"),
    // transport: the sender
    BATON_ENTRY(closed_before_writes_end, "M5", "all"),
    BATON_ENTRY(landing_opens_after_closed, "M6", "all"),
    BATON_ENTRY(probe_of_unknown_unanswered, "M9", "network"),
    BATON_ENTRY(no_resend, "M13", "network"),
    BATON_ENTRY(failed_write_counts, "M3", "writes"),
    BATON_ENTRY(torn_record_passes, "M4", "network"),
    // roles: prefill
    BATON_ENTRY(prefill_frees_during_step, "R4", "clients"),
    BATON_ENTRY(prefill_forgets_cancel, "T7", "all"),
    BATON_ENTRY(prefill_ignores_deadline, "R9", "network"),
    BATON_ENTRY(prefill_keeps_early_landing, "R11", "network"),
    BATON_ENTRY(prefill_pushes_partial_page, "R3", "calm"),
    BATON_ENTRY(prefill_takes_job_twice, "T13b", "network"),
    // roles: decode
    BATON_ENTRY(decode_frees_during_step, "R5", "clients"),
    BATON_ENTRY(decode_forgets_cancel, "T7b", "all"),
    BATON_ENTRY(decode_ignores_deadline, "R10", "all"),
    BATON_ENTRY(decode_runs_after_abort, "R13", "crashes"),
    BATON_ENTRY(decode_skips_first_token_test, "T14", "calm"),
    BATON_ENTRY(decode_never_retracts, "R6", "scarcity"),
    BATON_ENTRY(resume_without_keys, "T9", "scarcity"),
    BATON_ENTRY(admission_ignores_retracted, "R7", "scarcity"),
    // roles: router
    BATON_ENTRY(router_ignores_deadline, "R8", "network"),
    BATON_ENTRY(router_takes_events_twice, "R1", "network"),
    BATON_ENTRY(router_takes_events_unordered, "R2", "network"),
    BATON_ENTRY(router_cancels_no_leg, "R12", "clients"),
    BATON_ENTRY(router_keeps_dead_instance, "T11", "crashes"),
    BATON_ENTRY(router_judges_unread, "R14", "crashes"),
    BATON_ENTRY(rank_ignores_its_end, "T11c", "crashes"),
};

#undef BATON_ENTRY

}  // namespace baton::chaos
