#include "sim/workload/synthetic.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/random.h"
#include "sim/workload/draws.h"
#include "sim/workload/page_keys.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kRequestsByDefault = 1000;
constexpr std::uint64_t kGroupStream = std::uint64_t{1} << 62;  // apart from the streams of conversations

std::uint64_t block_id(std::uint64_t owner, std::uint64_t index) {
  return chained(index, owner);
}

class SyntheticRows final : public RowSource {
 public:
  explicit SyntheticRows(const SyntheticSpec& spec)
      : spec_(spec),
        random_(spec.seed),
        arrivals_(spec.arrivals, random_.fork(0)),
        left_(spec.requests   ? *spec.requests
              : spec.duration ? ~std::uint64_t{0}
                              : kRequestsByDefault) {
    if (!spec.lengths.empty()) {
      pairs_ = read_lengths(spec.lengths);
    }
    if (spec.prefix_groups > 0) {
      zipf_.emplace(spec.prefix_groups, spec.prefix_zipf);
    }
    goes_on_ = spec.turns.kind != LengthKind::fixed || spec.turns.first > 1;
    shares_ = spec.prefix_groups > 0 || goes_on_;
  }

  std::optional<TraceRow> next() override {
    if (left_ == 0 || (turn_ == turns_ && !begin_conversation())) {
      return std::nullopt;
    }
    --left_;
    TraceRow row;
    TraceRequest& request = row.request;
    row.follows = turn_ > 0;
    request.arrival = row.follows ? Duration{0} : arrival_;
    request.think = row.follows ? draw_pause(spec_.think, own_) : Duration{0};
    request.session = goes_on_ ? conversation_ : 0;
    request.turn = turn_;
    request.input_tokens = input_;
    request.output_tokens = output_;
    if (shares_) {
      name_blocks(request);
    }
    ++turn_;
    if (turn_ < turns_ && !draw_turn(input_ + output_)) {
      turns_ = turn_;  // it would not fit
    }
    return row;
  }

 private:
  bool begin_conversation() {
    const std::optional<Duration> arrival =
        spec_.duration ? arrivals_.next_before(*spec_.duration) : std::optional(arrivals_.next());
    if (!arrival) {
      left_ = 0;
      return false;
    }
    arrival_ = *arrival;
    ++conversation_;
    own_ = random_.fork(conversation_);
    turn_ = 0;
    turns_ = draw_length(spec_.turns, own_, SyntheticSpec::kSyntheticTurnsMax);
    prefix_ = 0;
    if (zipf_) {
      group_ = zipf_->draw(own_);
      Random group_random = random_.fork(kGroupStream + group_);
      prefix_ = draw_length(spec_.prefix_tokens, group_random, spec_.context_max);
    }
    if (!draw_turn(prefix_)) {  // the first one is cut to fit
      prefix_ = std::min(prefix_, spec_.context_max - 2);
      output_ = std::min(output_, spec_.context_max - prefix_ - 1);
      input_ = spec_.context_max - output_;
    }
    return true;
  }

  // Draws lengths for a turn that begins after so many tokens. False: it is longer than a context may be.
  bool draw_turn(std::uint64_t before) {
    std::uint32_t fresh = 0;
    if (pairs_.empty()) {
      fresh = draw_length(spec_.input, own_, SyntheticSpec::kSyntheticTokensMax);
      output_ = draw_length(spec_.output, own_, SyntheticSpec::kSyntheticTokensMax);
    } else {
      std::tie(fresh, output_) = pairs_[own_.uniform(pairs_.size())];
    }
    const std::uint64_t input = before + fresh;
    if (input + output_ > spec_.context_max) {
      return false;
    }
    input_ = static_cast<std::uint32_t>(input);
    return true;
  }

  void name_blocks(TraceRequest& request) const {
    request.block_tokens = spec_.block_tokens;
    request.blocks_of_output = true;
    const std::uint64_t tokens = std::uint64_t{request.input_tokens} + request.output_tokens;
    const std::uint64_t blocks = (tokens + spec_.block_tokens - 1) / spec_.block_tokens;
    const std::uint64_t shared = prefix_ / spec_.block_tokens;
    request.blocks.reserve(blocks);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      request.blocks.push_back(block_id(block < shared ? kGroupStream + group_ : conversation_, block));
    }
  }

  SyntheticSpec spec_;
  Random random_;
  ArrivalProcess arrivals_;
  std::uint64_t left_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
  std::optional<Zipf> zipf_;
  bool goes_on_ = false;  // conversations can have more than one turn
  bool shares_ = false;   // text is shared, so blocks are named

  // The conversation under way.
  Random own_{0};
  std::uint64_t conversation_ = 0;
  Duration arrival_{};
  std::uint64_t group_ = 0;
  std::uint32_t prefix_ = 0;
  std::uint32_t turn_ = 0;
  std::uint32_t turns_ = 0;
  std::uint32_t input_ = 0;  // of the turn that comes next
  std::uint32_t output_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> synthetic_rows(const SyntheticSpec& spec) {
  return std::make_unique<SyntheticRows>(spec);
}

}  // namespace baton::sim
