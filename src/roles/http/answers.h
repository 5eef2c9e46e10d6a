// The two ways a generation is told to its client: as one JSON answer, or as a stream of chunks.
//
// Both listen to a SampleRun. Samples are numbered prompt by prompt: sample s of prompt p is choice p * n + s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "roles/http/api_response.h"
#include "roles/http/body_work.h"
#include "roles/http/http_message.h"
#include "roles/http/sample_run.h"
#include "runtime/ids.h"

namespace baton {

// What both kinds of answer need to know of their request.
struct AnswerPlan {
  AnswerHead head;
  std::vector<PreparedPrompt> prompts;
  std::uint32_t n = 1;
  bool include_usage = false;
  bool continuous_usage_stats = false;

  std::size_t samples() const noexcept { return prompts.size() * n; }
  const PreparedPrompt& prompt_of(std::uint32_t index) const { return prompts[index / n]; }
};

// Each prompt counts once, whatever n; output counts for every sample. Cached tokens of a prompt are those no sample
// of it had to compute, so n samples do not multiply them.
Usage total_usage(const AnswerPlan& plan, const std::vector<FinishEvent>& finishes);

class WholeAnswer final : public SampleListener {
 public:
  WholeAnswer(const AnswerPlan& plan, const Tokenizer& tokenizer);
  void on_token(std::uint32_t index, TokenEvent event) override;
  void on_finish(std::uint32_t index, FinishEvent event) override;
  // Once every sample has finished.
  std::string text();

 private:
  const AnswerPlan& plan_;
  AnswerWriter writer_;
  std::vector<ChoicePart> parts_;
  std::vector<FinishEvent> finishes_;
};

// One chunk per token that shows text; tokens whose text is held back come along with the next one. The answer's
// headers go out with the first chunk, so that what fails before can still be told by a status.
class StreamedAnswer final : public SampleListener {
 public:
  // The exchange outlives the answer.
  StreamedAnswer(const AnswerPlan& plan, const Tokenizer& tokenizer, Exchange& exchange);
  void on_token(std::uint32_t index, TokenEvent event) override;
  void on_finish(std::uint32_t index, FinishEvent event) override;

  bool begun() const noexcept { return begun_; }
  // The usage chunk if it was asked for, and the end of the stream; with `close` of the connection, too.
  void finish(bool close);
  // An error event and the end of the stream; only when begun.
  void fail(const Failure& failure);

 private:
  struct Progress {
    std::vector<SampledToken> held;  // tokens not yet in a chunk; only kept where chunks list them
    std::size_t text_offset = 0;
    bool started = false;
  };

  void send(std::uint32_t index, std::string text, const FinishEvent* finish);

  const AnswerPlan& plan_;
  AnswerWriter writer_;
  Exchange& exchange_;
  std::vector<Progress> progress_;
  std::vector<FinishEvent> finishes_;
  Usage so_far_;
  bool begun_ = false;
};

}  // namespace baton
