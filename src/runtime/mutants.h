// Mutants: protections that a test build can take out one at a time, to prove that something notices.
//
// In every ordinary build mutant() is false at compile time and nothing of this is left in the program. With
// BATON_MUTANTS (the libraries that tests/chaos is built on) one protection may be switched off for the whole process.
// Each name says what goes wrong; tests/chaos lists the case that catches it.
#pragma once

namespace baton {

#define BATON_MUTANT_LIST(X)                                                                                         \
  /* model/kv */                                                                                                     \
  X(pinned_pages_return)   /* a lease's end frees pages that are pinned */                                           \
  X(given_page_stays_free) /* the pool gives a page out that is leased already */                                    \
  X(found_pages_unheld)    /* pages of the prefix cache are taken back while others read them */                     \
  /* transport: the target's account */                                                                              \
  X(abandon_frees_pages)        /* an abandoned room's pages return at once */                                       \
  X(failed_frees_pages)         /* a sender's `failed` is taken for its last word */                                 \
  X(success_without_all_writes) /* the record alone completes a hand-over */                                         \
  X(duplicate_writes_count)     /* a write that comes twice counts twice */                                          \
  X(closed_keeps_quarantine)    /* the sender's last word frees nothing */                                           \
  X(peer_gone_without_fence)    /* pages of a dead sender return, its writes may land */                             \
  X(no_quarantine_probe)        /* a lost last word is never asked for */                                            \
  X(no_repeated_success)        /* a record that comes again after success is not answered */                        \
  X(late_write_unanswered)      /* a sender that goes on after the end is not told */                                \
  X(success_without_record)     /* the pages alone complete a hand-over */                                           \
  X(record_fits_any_room)       /* a record is taken for whoever waits for one */                                    \
  /* transport: the sender */                                                                                        \
  X(closed_before_writes_end)    /* the last word leaves while a write is under way */                               \
  X(landing_opens_after_closed)  /* what was closed may be opened */                                                 \
  X(probe_of_unknown_unanswered) /* a room that was never opened is never closed */                                  \
  X(no_resend)                   /* a lost notice is never repeated */                                               \
  X(failed_write_counts)         /* a write that failed is announced all the same */                                 \
  X(torn_record_passes)          /* a side record is believed without its checksum */                                \
  X(record_loses_logprobs)       /* of the first token only its id is handed over */                                 \
  X(layouts_unchecked)           /* pages of another kind are written all the same */                                \
  /* roles: prefill */                                                                                               \
  X(prefill_frees_during_step)     /* a failed room's pages return while a step writes them */                       \
  X(prefill_forgets_cancel)        /* a cancel that overtakes its job leaves no tombstone */                         \
  X(prefill_ignores_deadline)      /* a room whose cancel is lost stays for ever */                                  \
  X(prefill_keeps_early_landing)   /* a landing without a job stays for ever */                                      \
  X(prefill_pushes_partial_page)   /* a page is sent before its last position is computed */                         \
  X(prefill_takes_job_twice)       /* a job that comes twice is taken twice */                                       \
  X(prefill_refuses_open_room)     /* a job that comes twice fails the room it has opened */                         \
  X(prefill_refuses_in_silence)    /* neither the other leg nor the router hear of a refusal */                      \
  X(prefill_takes_what_never_fits) /* a prompt larger than the pool waits for pages */                               \
  X(prefill_waits_for_answers)     /* nothing is computed while a room waits for its target */                       \
  X(prefill_forgets_min_tokens)    /* the first token may be the end, whatever was asked for */                      \
  X(late_landing_is_kept)          /* the landing of a room that is over waits for a job */                          \
  X(failed_step_counts)            /* on either leg: a step that failed passes for one that drew token 0 */          \
  X(prefill_keeps_uncomputed)      /* a prompt is offered to others before it is computed */                         \
  /* roles: decode */                                                                                                \
  X(decode_frees_during_step)      /* an aborted room gives its pages back during its step */                        \
  X(decode_forgets_cancel)         /* as prefill_forgets_cancel */                                                   \
  X(decode_ignores_deadline)       /* as prefill_ignores_deadline */                                                 \
  X(decode_runs_after_abort)       /* a room aborted during its transfer runs all the same */                        \
  X(decode_skips_first_token_test) /* the handed-over token is not tested for the end */                             \
  X(decode_never_retracts)         /* nobody gives pages back when they run out */                                   \
  X(resume_without_keys)           /* a retracted request returns without its last page */                           \
  X(admission_ignores_retracted)   /* new requests overtake retracted ones for ever */                               \
  X(decode_refuses_in_silence)     /* as prefill_refuses_in_silence */                                               \
  X(first_token_counts_twice)      /* as a token of both legs */                                                     \
  X(retractions_uncounted)         /* a metric that stands still */                                                  \
  /* roles: router */                                                                                                \
  X(router_ignores_deadline)       /* a request whose legs are silent never ends */                                  \
  X(router_takes_events_twice)     /* a duplicated message gives its tokens twice */                                 \
  X(router_takes_events_unordered) /* a late message gives its tokens late */                                        \
  X(router_cancels_no_leg)         /* legs of an ended request are not told */                                       \
  X(router_keeps_dead_instance)    /* a new instance does not replace the old one */                                 \
  X(router_hides_losses)           /* a request whose rank is lost ends as if well */                                \
  X(rooms_are_counted)             /* two routers name their rooms alike */                                          \
  X(rooms_are_named_by_clients)    /* requests of one name share a room */                                           \
  X(legs_choose_apart)             /* the legs are not told the same pair */                                         \
  X(router_judges_unread)          /* a router that stood still gives up ranks whose heartbeats wait in its inbox */ \
  X(rank_ignores_its_end)          /* a rank that was given up goes on */

enum class Mutant {
  none,
#define BATON_MUTANT(name) name,
  BATON_MUTANT_LIST(BATON_MUTANT)
#undef BATON_MUTANT
};

#ifdef BATON_MUTANTS
// Which protection is off. Set before a world is built; read everywhere. One thread.
inline Mutant active_mutant = Mutant::none;
inline bool mutant(Mutant which) noexcept {
  return active_mutant == which;
}
#else
constexpr bool mutant(Mutant) noexcept {
  return false;
}
#endif

}  // namespace baton
