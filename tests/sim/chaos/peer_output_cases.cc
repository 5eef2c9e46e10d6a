// Cases of wrong output and of API semantics that a split breaks, as users of other PD runtimes met them.
#include <map>
#include <vector>

#include "tests/sim/chaos/history.h"
#include "tests/sim/chaos/named_case.h"
#include "tests/support/toy_world.h"
#include "transport/endpoint_sender.h"
#include "transport/inmemory/in_memory_hub.h"

namespace baton::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The device fails at the prompt's third chunk. What has been handed over by then is no prompt.
void failed_prefill_is_no_success() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 90, 8);
  scenario.timed.push_back({Fault::step_failed, kPrefill, {}, microseconds(1000), microseconds(200)});
  const RunReport report = play(scenario, {.keep_history = true});
  const ClientOutcome& outcome = report.outcomes.at(0);
  expect(events_of(report, kPrefill, "computed", 0).size() >= 2, "some chunks were computed");
  expect(outcome.failure && outcome.failure->code == Errc::internal, "the client hears of the failure");
  expect(outcome.failure->origin == "prefill/0", "and where it was");
  expect(outcome.tokens.empty(), "and sees no token");
  expect(events_of(report, kDecode, "on verdict ok", 0).empty(), "decode takes nothing over");
  expect(events_of(report, kDecode, "on step done", 0).empty(), "and computes nothing");
}

// Page sizes and memory of every kind give the reference's tokens. (There is one order of values in a page and no
// split of heads over ranks, so the other pairs of the issue have no counterpart.)
void every_page_size_gives_the_same() {
  std::map<std::uint32_t, std::vector<TokenId>> first;
  for (const std::uint32_t page : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    for (const std::uint32_t chunk : {7U, 16U, 64U}) {
      Scenario scenario = quiet_world(2, 2);
      scenario.copying = (page + chunk) % 2 == 0;
      scenario.page_tokens = page;
      scenario.decode_pages = scenario.prefill_pages = 1024 / page;
      scenario.chunk_tokens = chunk;
      for (std::uint32_t i = 0; i < 8; ++i) {
        add_client(scenario, microseconds(100 + 20 * i), 3 + 11 * i, 2 + 3 * i).time_limit = std::chrono::seconds(2);
      }
      const RunReport report = play(scenario);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const ClientOutcome& outcome = report.outcomes.at(i);
        expect(outcome.ok() && !outcome.tokens.empty(), "every request is served");
        expect(first.emplace(i, outcome.tokens).first->second == outcome.tokens, "by the same tokens as before");
      }
    }
  }
}

// Ranks whose pages differ refuse each other, in words, before a byte moves.
void unequal_layouts_are_refused() {
  KvLayout mine;
  mine.layers = 2;
  mine.kv_heads = 2;
  mine.head_dim = 8;
  mine.page_tokens = 16;
  std::vector<KvLayout> others(5, mine);
  others[0].page_tokens = 32;
  others[1].kv_heads = 1;  // as a rank that holds half of the heads
  others[2].head_dim = 16;
  others[3].layers = 1;
  others[4].type = KvType::f32;
  for (const KvLayout& other : others) {
    SimContext context;
    InMemoryHub hub(MemoryMode::copying);
    const PeerId source{kPrefill, {1, 1}};
    const PeerId target{kDecode, {2, 2}};
    KvArena arena(other, 4);
    const std::unique_ptr<Endpoint> receiving = hub.attach(context, target, &arena);
    const std::unique_ptr<Endpoint> sending = hub.attach(context, source, nullptr);
    EndpointSender sender(context, *sending, mine, 7);
    const Landing landing(TransferId{target.instance, RoomId{5}}, target, source, other.fingerprint(), 7, 20, 0, {0, 1},
                          receiving->memory_key());
    const Opened opened = sender.open(landing);
    expect(!opened, "a landing in pages of another kind is not opened: " + describe(other));
    expect(!opened.refusal.message.empty() && !opened.refusal.origin.empty(), "and the refusal says why");
    expect(sender.open_transfers() == 0, "nothing is begun");
  }
}

void pages_of_all_kinds() {
  every_page_size_gives_the_same();
  unequal_layouts_are_refused();
}

// The same clients on one rank that does both, on ranks apart, and apart with neighbours that leave.
void split_equals_aggregated() {
  std::vector<std::vector<TokenId>> transcripts;
  for (const int form : {0, 1, 2}) {
    Scenario scenario = quiet_world();
    scenario.aggregated = form == 0;
    scenario.decode_pages = form == 0 ? 256 : 40;
    scenario.lookahead_tokens = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      ClientPlan& plan = add_client(scenario, microseconds(100 + 90 * i), 4 + (7 * i) % 50, 3 + i % 10);
      plan.time_limit = std::chrono::seconds(3);
      if (form == 2 && i % 2 == 1) {
        plan.patience = microseconds(150 * i);
        plan.vanishes = i % 4 == 1;
      }
    }
    const RunReport report = play(scenario);
    std::vector<TokenId> transcript;
    for (std::uint32_t i = 0; i < 20; i += 2) {
      const ClientOutcome& outcome = report.outcomes.at(i);
      expect(outcome.ok(), "who stays is served");
      transcript.insert(transcript.end(), outcome.tokens.begin(), outcome.tokens.end());
    }
    transcripts.push_back(std::move(transcript));
  }
  expect(transcripts[1] == transcripts[0], "apart as together");
  expect(transcripts[2] == transcripts[0], "with neighbours that leave too");
}

// The first token is all there is: by the limit, or because it is the end.
void one_token_needs_no_decode_step() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 1);
  add_client(scenario, microseconds(100), 20, 9).stop_after = 1;
  const RunReport report = play(scenario, {.keep_history = true});
  expect(report.outcomes.at(0).tokens.size() == 1, "max_tokens 1 gives one token");
  expect(report.outcomes.at(0).reason == FinishReason::length, "and ends by length");
  expect(report.outcomes.at(1).tokens.empty(), "a first token that ends the text is not shown");
  expect(report.outcomes.at(1).reason == FinishReason::stop, "and the text ends by it");
  for (const std::uint32_t i : {0U, 1U}) {
    expect(report.outcomes.at(i).ok(), "both end well");
    expect(events_of(report, kDecode, "running", i).empty(), "neither takes a place in decode's batch");
  }
}

// Prefill has ended long before decode hears of it: the stream is not over in between, and ends once. (That the last
// thing on an HTTP stream is one [DONE] is tests/roles/http/api_test.cc.)
void delay_between_the_legs() {
  Scenario scenario = quiet_world();
  add_client(scenario, microseconds(100), 20, 6);
  scenario.script.push_back({Traffic::record, 0, 0, Fault::notice_delayed, milliseconds(50)});
  const RunReport report = play(scenario);
  const ClientOutcome& outcome = report.outcomes.at(0);
  expect(outcome.ok() && outcome.tokens.size() == 6, "all tokens come");
  expect(outcome.first_token >= TimePoint(milliseconds(50)), "after the delay");
  expect(outcome.gone > outcome.first_token, "and the end after them");
}

// No prefix is cached yet, on either rank, so the right number is known: none. It may not come out as the prompt's
// length because decode "found" the pages that prefill wrote.
void usage_counts_once() {
  for (const bool copying : {false, true}) {
    NodeConfig config = test::small_node(2, 2);
    config.copying = copying;
    test::ToyWorld world(config);
    std::vector<GenerationRequest> requests;
    for (std::uint32_t i = 0; i < 6; ++i) {
      requests.push_back(world.request(40, 1 + 3 * i, 5));  // the same prompt again and again
    }
    const std::vector<test::Outcome> outcomes = run_all(world, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Usage& usage = outcomes[i].finish.usage;
      expect(outcomes[i].ok(), "served");
      expect(usage.prompt_tokens == 40, "the prompt counts once");
      expect(usage.completion_tokens == outcomes[i].tokens.size(), "every token that was shown counts once");
      expect(usage.cached_tokens == 0, "nothing was cached");
    }
  }
}

}  // namespace

std::vector<NamedCase> peer_output_cases() {
  return {
      {"P11: a prefill that fails mid-way never passes for a prompt", "sglang#30233", failed_prefill_is_no_success},
      {"P12: every page size gives the same tokens, and unequal layouts are refused", "TensorRT-LLM#6507",
       pages_of_all_kinds},
      {"P13: apart, together, or among clients that leave: the same transcripts", "vllm#17808",
       split_equals_aggregated},
      {"P14: one token takes no decode step and has the right reason", "sglang#7147", one_token_needs_no_decode_step},
      {"P15: a stream does not end when prefill does", "xllm#726", delay_between_the_legs},
      {"P16: tokens are counted once over both legs", "sglang#25290", usage_counts_once},
  };
}

}  // namespace baton::chaos
