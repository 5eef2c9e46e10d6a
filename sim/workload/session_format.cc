// LLMServingSim's JSONL: a request of its own, or a session whose calls follow one another.
#include <algorithm>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/random.h"
#include "sim/workload/json_row.h"
#include "sim/workload/row_format.h"

namespace baton::sim {
namespace {

constexpr std::uint32_t kBlockTokens = 16;  // token ids are hashed in blocks of this many

// Turns token ids into chained block ids.
class BlockHasher final {
 public:
  BlockHasher(std::uint32_t block_tokens, std::vector<std::uint64_t>& blocks)
      : block_tokens_(block_tokens), blocks_(blocks) {}

  void add(std::uint64_t token) {
    chain_ = splitmix64(chain_) ^ token;
    if (++tokens_ % block_tokens_ == 0) {
      std::uint64_t state = chain_;
      blocks_.push_back(splitmix64(state));
    }
  }

 private:
  std::uint32_t block_tokens_;
  std::vector<std::uint64_t>& blocks_;
  std::uint64_t chain_ = 0;
  std::uint64_t tokens_ = 0;
};

class SessionFormat final : public RowFormat {
 public:
  explicit SessionFormat(std::uint32_t block_tokens) : block_tokens_(block_tokens != 0 ? block_tokens : kBlockTokens) {}

  void read(const RowPlace& place, std::string_view text, std::vector<TraceRow>& rows) override {
    const boost::json::object& object = parser_.parse(place, text);
    const Duration arrival = json_time(place, "arrival_time_ns", get_field(place, object, "arrival_time_ns"), 1);
    const auto* calls = find_field(object, "sub_requests");
    if (calls == nullptr) {
      TraceRow& row = rows.emplace_back();
      read_call(place, object, row.request);
      row.request.arrival = arrival;
      return;
    }
    const boost::json::array* list = calls->if_array();
    if (list == nullptr || list->empty()) {
      refuse_field(place, "sub_requests", boost::json::serialize(*calls), "a list of at least one call is wanted");
    }
    // Sessions without a name, or two of one name, are apart all the same.
    const std::uint64_t session = ++sessions_;
    Duration think{};
    for (const boost::json::value& call : *list) {
      const boost::json::object* fields = call.if_object();
      if (fields == nullptr) {
        refuse_field(place, "sub_requests", boost::json::serialize(call), "a JSON object is wanted");
      }
      TraceRow& row = rows.emplace_back();
      row.follows = fields != list->front().if_object();
      row.request.session = session;
      row.request.turn = static_cast<std::uint32_t>(fields_index(*list, call));
      row.request.arrival = row.follows ? Duration{} : arrival;
      row.request.think = think;
      read_call(place, *fields, row.request);
      const auto* gap = find_field(*fields, "tool_duration_ns");
      think = gap == nullptr ? Duration{} : json_time(place, "tool_duration_ns", *gap, 1);
    }
  }

 private:
  static std::size_t fields_index(const boost::json::array& list, const boost::json::value& call) {
    return static_cast<std::size_t>(&call - list.data());
  }

  void read_call(const RowPlace& place, const boost::json::object& object, TraceRequest& request) const {
    request.input_tokens = json_tokens(place, "input_toks", get_field(place, object, "input_toks"), 1);
    request.output_tokens = json_tokens(place, "output_toks", get_field(place, object, "output_toks"), 0);
    const auto* input = find_field(object, "input_tok_ids");
    if (input == nullptr) {
      return;
    }
    request.block_tokens = block_tokens_;
    BlockHasher hasher(block_tokens_, request.blocks);
    add_tokens(place, "input_tok_ids", *input, request.input_tokens, hasher);
    const auto* output = find_field(object, "output_tok_ids");
    if (output != nullptr && output->is_array() && !output->get_array().empty()) {
      request.blocks_of_output = true;
      add_tokens(place, "output_tok_ids", *output, request.output_tokens, hasher);
    }
  }

  static void add_tokens(const RowPlace& place, const char* field, const boost::json::value& value, std::uint32_t count,
                         BlockHasher& hasher) {
    const boost::json::array* ids = value.if_array();
    if (ids == nullptr || ids->size() != count) {
      refuse_row(place, fmt::format("{}: a list of {} token ids is wanted, as many as there are tokens", field, count));
    }
    for (const boost::json::value& id : *ids) {
      if (!id.is_int64() || id.get_int64() < 0) {
        refuse_field(place, field, boost::json::serialize(id), "a token id is wanted");
      }
      hasher.add(static_cast<std::uint64_t>(id.get_int64()));
    }
  }

  std::uint32_t block_tokens_;
  JsonRow parser_;
  std::uint64_t sessions_ = 0;
};

}  // namespace

std::unique_ptr<RowFormat> make_session_format(std::uint32_t block_tokens) {
  return std::make_unique<SessionFormat>(block_tokens);
}

}  // namespace baton::sim
