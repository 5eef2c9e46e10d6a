// The formats that are one flat JSON object per request: one description each, one class for all.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/check.h"
#include "sim/workload/json_row.h"
#include "sim/workload/row_format.h"
#include "sim/workload/turn_counter.h"

namespace baton::sim {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Keys; nullptr: the format has none. Those below `output` may be absent from a row.
struct JsonLayout {
  TraceFormat format;
  const char* arrival;
  std::int64_t unit;  // of the arrival, in ns
  const char* input;
  const char* output;
  const char* blocks;
  std::uint32_t block_tokens;
  bool blocks_of_output;  // those of the output stand behind the prompt's
  const char* id;
  const char* priority;
  const char* session;
  const char* delay;  // ms after the turn before, for rows without an arrival
};

constexpr std::array kLayouts{
    JsonLayout{TraceFormat::mooncake, "timestamp", kMillisecond, "input_length", "output_length", "hash_ids", 512,
               false, "request_id", "priority", "session_id", "delay_ms"},
    JsonLayout{TraceFormat::rtp_llm, "ts", kMillisecond, "il", "ol", "bh", 1024, false, nullptr, "priority", nullptr,
               nullptr},
    JsonLayout{TraceFormat::bailian, "timestamp", kSecond, "input_length", "output_length", "hash_ids", 16, false,
               "chat_id", nullptr, nullptr, nullptr},
    JsonLayout{TraceFormat::distserve, "start_time", kSecond, "prompt_len", "output_len", nullptr, 0, false, nullptr,
               nullptr, nullptr, nullptr},
    JsonLayout{TraceFormat::vllm_bench, "arrival_ns", 1, "input_length", "output_length", "hash_ids16", 16, true,
               "request_id", nullptr, nullptr, nullptr},
};

std::string text_of(const boost::json::value& value) {
  const boost::json::string* text = value.if_string();
  return text != nullptr ? std::string(text->data(), text->size()) : boost::json::serialize(value);
}

class JsonFormat final : public RowFormat {
 public:
  JsonFormat(const JsonLayout& layout, std::uint32_t block_tokens)
      : layout_(layout), block_tokens_(block_tokens != 0 ? block_tokens : layout.block_tokens) {}

  void read(const RowPlace& place, std::string_view text, std::vector<TraceRow>& rows) override {
    const boost::json::object& object = parser_.parse(place, text);
    TraceRow& row = rows.emplace_back();
    TraceRequest& request = row.request;
    request.input_tokens = json_tokens(place, layout_.input, get_field(place, object, layout_.input), 1);
    request.output_tokens = json_tokens(place, layout_.output, get_field(place, object, layout_.output), 0);
    read_session(place, object, row);
    if (!row.follows) {
      request.arrival = json_time(place, layout_.arrival, get_field(place, object, layout_.arrival), layout_.unit);
    }
    if (layout_.format == TraceFormat::bailian) {
      read_chat(place, object, request);
    }
    if (const auto* blocks = find(object, layout_.blocks)) {
      read_blocks(place, *blocks, request);
    }
    if (const auto* id = find(object, layout_.id)) {
      request.id = text_of(*id);
    }
    if (const auto* priority = find(object, layout_.priority)) {
      request.priority = json_tokens(place, layout_.priority, *priority, 0);
    }
  }

 private:
  static const boost::json::value* find(const boost::json::object& object, const char* key) {
    return key == nullptr ? nullptr : find_field(object, key);
  }

  void read_session(const RowPlace& place, const boost::json::object& object, TraceRow& row) {
    TraceRequest& request = row.request;
    if (const auto* session = find(object, layout_.session)) {
      request.session = json_id(place, layout_.session, *session);
    }
    const auto* delay = find(object, layout_.delay);
    const bool is_known = request.session != 0 && turns_.knows(request.session);
    request.turn = turns_.next(request.session);
    row.follows = is_known && find(object, layout_.arrival) == nullptr;
    if (delay != nullptr && row.follows) {
      request.think = json_time(place, layout_.delay, *delay, kMillisecond);
    } else if (delay != nullptr && find(object, layout_.arrival) == nullptr) {
      refuse_field(place, layout_.delay, boost::json::serialize(*delay),
                   "there is no earlier row of its session to wait for, and no timestamp");
    }
  }

  // A chat goes on from the one that its parent names; the first chat's number is the session.
  void read_chat(const RowPlace& place, const boost::json::object& object, TraceRequest& request) {
    const std::uint64_t chat = json_id(place, "chat_id", get_field(place, object, "chat_id"));
    const auto* parent = find_field(object, "parent_chat_id");
    const auto found = parent == nullptr ? roots_.end() : roots_.find(json_id(place, "parent_chat_id", *parent));
    request.session = found == roots_.end() ? chat : found->second;
    roots_.emplace(chat, request.session);
    if (const auto* turn = find_field(object, "turn")) {
      const std::uint32_t counted = json_tokens(place, "turn", *turn, 0);
      request.turn = counted == 0 ? 0 : counted - 1;
    }
  }

  void read_blocks(const RowPlace& place, const boost::json::value& value, TraceRequest& request) const {
    const boost::json::array* ids = value.if_array();
    if (ids == nullptr) {
      refuse_field(place, layout_.blocks, boost::json::serialize(value), "a list of block ids is wanted");
    }
    request.block_tokens = block_tokens_;
    request.blocks_of_output = layout_.blocks_of_output;
    request.blocks.reserve(ids->size());
    for (const boost::json::value& id : *ids) {
      if (const std::int64_t* number = id.if_int64()) {
        request.blocks.push_back(static_cast<std::uint64_t>(*number));
      } else if (id.is_uint64()) {
        request.blocks.push_back(id.get_uint64());
      } else {
        request.blocks.push_back(json_id(place, layout_.blocks, id));
      }
    }
    const std::uint64_t tokens = request.input_tokens + (layout_.blocks_of_output ? request.output_tokens : 0U);
    if (request.blocks.size() > (tokens + block_tokens_ - 1) / block_tokens_) {
      refuse_row(place, fmt::format("{}: {} blocks of {} tokens are too many for {} tokens; have they another size?",
                                    layout_.blocks, request.blocks.size(), block_tokens_, tokens));
    }
  }

  const JsonLayout& layout_;
  std::uint32_t block_tokens_;
  JsonRow parser_;
  TurnCounter turns_;
  std::unordered_map<std::uint64_t, std::uint64_t> roots_;  // chat -> the first one of its conversation
};

}  // namespace

std::unique_ptr<RowFormat> make_json_format(TraceFormat format, std::uint32_t block_tokens) {
  const auto* layout = std::ranges::find(kLayouts, format, &JsonLayout::format);
  BATON_CHECK(layout != kLayouts.end(), to_string(format));
  return std::make_unique<JsonFormat>(*layout, block_tokens);
}

}  // namespace baton::sim
