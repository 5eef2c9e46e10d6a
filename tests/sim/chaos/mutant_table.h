// Which cases catch which mutant, and in which profile the explorer finds it.
//
// Every mutant has an entry and every named case stands in one. What the explorer cannot see says why.
#pragma once

#include "runtime/mutants.h"

namespace baton::chaos {

struct MutantEntry {
  Mutant mutant;
  const char* name;
  const char* cases;    // the beginnings of NamedCases' names, up to the colon: "T1" or "T1,P6"
  const char* profile;  // where the explorer meets it; null: nowhere
  const char* unseen;   // why it meets it nowhere; null: it does
};

#define BATON_ENTRY(mutant, cases, profile) {Mutant::mutant, #mutant, cases, profile, nullptr}
#define BATON_UNSEEN(mutant, cases, why) {Mutant::mutant, #mutant, cases, nullptr, why}

inline constexpr MutantEntry kMutants[] = {
    // model/kv
    BATON_ENTRY(pinned_pages_return, "T1", "writes"),
    BATON_ENTRY(given_page_stays_free, "M8", "calm"),
    BATON_ENTRY(found_pages_unheld, "C1", "scarcity"),
    // transport: the target's account
    BATON_ENTRY(abandon_frees_pages, "T1,P6,P10", "writes"),
    BATON_ENTRY(failed_frees_pages, "M5", "all"),
    BATON_ENTRY(success_without_all_writes, "M2,T5", "network"),
    BATON_ENTRY(duplicate_writes_count, "M1", "all"),
    BATON_ENTRY(closed_keeps_quarantine, "M11", "clients"),
    BATON_ENTRY(peer_gone_without_fence, "M7", "crashes"),
    BATON_ENTRY(no_quarantine_probe, "M10", "all"),
    BATON_ENTRY(no_repeated_success, "M12", "network"),
    BATON_UNSEEN(late_write_unanswered, "M14", "decode asks again a second later, and prefill hears it then"),
    BATON_ENTRY(success_without_record, "T3,P15", "calm"),
    BATON_ENTRY(record_fits_any_room, "T2", "writes"),
    // transport: the sender
    BATON_ENTRY(closed_before_writes_end, "M5", "all"),
    BATON_ENTRY(landing_opens_after_closed, "M6", "all"),
    BATON_ENTRY(probe_of_unknown_unanswered, "M9", "network"),
    BATON_ENTRY(no_resend, "M13,P1,T4", "network"),
    BATON_ENTRY(failed_write_counts, "M3", "writes"),
    BATON_ENTRY(torn_record_passes, "M4", "network"),
    BATON_UNSEEN(record_loses_logprobs, "P17", "the world's engine gives no log-probabilities"),
    BATON_UNSEEN(layouts_unchecked, "P12", "all ranks of a world have one layout"),
    // roles: prefill
    BATON_ENTRY(prefill_frees_during_step, "R4,T15", "clients"),
    BATON_ENTRY(prefill_forgets_cancel, "T7", "all"),
    BATON_ENTRY(prefill_ignores_deadline, "R9,P2", "network"),
    BATON_ENTRY(prefill_keeps_early_landing, "R11", "network"),
    BATON_ENTRY(prefill_pushes_partial_page, "R3", "calm"),
    BATON_ENTRY(prefill_takes_job_twice, "T13b", "network"),
    BATON_ENTRY(prefill_refuses_open_room, "T13", "network"),
    BATON_ENTRY(prefill_refuses_in_silence, "T8b", "scarcity"),
    BATON_ENTRY(prefill_takes_what_never_fits, "T6,P7", "scarcity"),
    BATON_UNSEEN(prefill_waits_for_answers, "T10,P3", "all is served, only later: no rule says how fast"),
    BATON_UNSEEN(prefill_forgets_min_tokens, "Q5", "no client of a world asks for min_tokens"),
    BATON_UNSEEN(late_landing_is_kept, "P9", "its pages return all the same, ten seconds later"),
    BATON_ENTRY(failed_step_counts, "P11", "scarcity"),
    BATON_ENTRY(prefill_keeps_uncomputed, "C2", "clients"),
    // roles: decode
    BATON_ENTRY(decode_frees_during_step, "R5", "clients"),
    BATON_ENTRY(decode_forgets_cancel, "T7b", "all"),
    BATON_ENTRY(decode_ignores_deadline, "R10,T8", "all"),
    BATON_ENTRY(decode_runs_after_abort, "R13", "crashes"),
    BATON_ENTRY(decode_skips_first_token_test, "T14,P14", "calm"),
    BATON_ENTRY(decode_never_retracts, "R6,Q1", "clients"),
    BATON_ENTRY(resume_without_keys, "T9,P13", "scarcity"),
    BATON_ENTRY(admission_ignores_retracted, "R7", "scarcity"),
    BATON_ENTRY(decode_refuses_in_silence, "P7", "scarcity"),
    BATON_ENTRY(first_token_counts_twice, "P16", "calm"),
    BATON_UNSEEN(retractions_uncounted, "Q3", "it reads no metrics"),
    // roles: router
    BATON_ENTRY(router_ignores_deadline, "R8", "network"),
    BATON_ENTRY(router_takes_events_twice, "R1", "network"),
    BATON_ENTRY(router_takes_events_unordered, "R2,Q4", "network"),
    BATON_ENTRY(router_cancels_no_leg, "R12,T7c", "clients"),
    BATON_ENTRY(router_keeps_dead_instance, "T11,T11b,P5,P20", "crashes"),
    BATON_ENTRY(router_hides_losses, "P18,P19", "crashes"),
    BATON_ENTRY(rooms_are_counted, "T12", "calm"),
    BATON_UNSEEN(rooms_are_named_by_clients, "P8,Q6", "it tells its clients apart by their names"),
    BATON_ENTRY(legs_choose_apart, "Q7", "calm"),
    BATON_ENTRY(router_judges_unread, "R14", "crashes"),
    BATON_ENTRY(rank_ignores_its_end, "T11c,P4", "crashes"),
};

#undef BATON_ENTRY
#undef BATON_UNSEEN

}  // namespace baton::chaos
