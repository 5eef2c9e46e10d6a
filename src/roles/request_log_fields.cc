#include "roles/request_log_fields.h"

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace baton {
namespace {

constexpr std::string_view kReasons[] = {"stop", "length", "failure"};
constexpr std::string_view kRoles[] = {"router", "prefill", "decode", "aggregated"};
constexpr int kErrcMax = static_cast<int>(Errc::internal);

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end.ptr);
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

template <auto kMember>
bool get_count(const RequestRecord& record, std::string& out) {
  append_number(out, record.*kMember);
  return true;
}

template <auto kMember>
bool set_count(RequestRecord& record, std::string_view text) {
  return parse_number(text, record.*kMember);
}

bool get_double(double value, std::string& out) {
  if (std::isnan(value)) {
    return false;
  }
  append_number(out, value);
  return true;
}

bool set_double(double& value, std::string_view text) {
  return parse_number(text, value) && std::isfinite(value) && value >= 0.0;
}

template <auto kMember>
bool get_time(const RequestRecord& record, std::string& out) {
  return get_double(record.*kMember, out);
}

template <auto kMember>
bool set_time(RequestRecord& record, std::string_view text) {
  return set_double(record.*kMember, text);
}

template <Stage kStage>
bool get_stage(const RequestRecord& record, std::string& out) {
  return get_double(record.stage_ms(kStage), out);
}

template <Stage kStage>
bool set_stage(RequestRecord& record, std::string_view text) {
  return set_double(record.stages_ms[static_cast<std::size_t>(kStage)], text);
}

template <auto kMember>
bool get_rank(const RequestRecord& record, std::string& out) {
  const std::optional<RankId>& rank = record.*kMember;
  if (!rank) {
    return false;
  }
  out += kRoles[static_cast<std::size_t>(rank->role)];
  out += '/';
  append_number(out, rank->index);
  return true;
}

template <auto kMember>
bool set_rank(RequestRecord& record, std::string_view text) {
  for (std::size_t role = 0; role < std::size(kRoles); ++role) {
    const std::string_view name = kRoles[role];
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '/') {
      RankId rank{static_cast<Role>(role), 0};
      const bool good = parse_number(text.substr(name.size() + 1), rank.index);
      record.*kMember = rank;
      return good;
    }
  }
  return false;
}

template <auto kMember>
bool get_text(const RequestRecord& record, std::string& out) {
  out += record.*kMember;
  return !(record.*kMember).empty();
}

template <auto kMember>
bool set_text(RequestRecord& record, std::string_view text) {
  record.*kMember = text;
  return true;
}

bool get_reason(const RequestRecord& record, std::string& out) {
  out += kReasons[static_cast<std::size_t>(record.reason)];
  return true;
}

bool set_reason(RequestRecord& record, std::string_view text) {
  for (std::size_t i = 0; i < std::size(kReasons); ++i) {
    if (kReasons[i] == text) {
      record.reason = static_cast<FinishReason>(i);
      return true;
    }
  }
  return false;
}

bool get_error(const RequestRecord& record, std::string& out) {
  if (record.error) {
    out += to_string(*record.error);
  }
  return record.error.has_value();
}

bool set_error(RequestRecord& record, std::string_view text) {
  for (int code = 1; code <= kErrcMax; ++code) {
    if (to_string(static_cast<Errc>(code)) == text) {
      record.error = static_cast<Errc>(code);
      return true;
    }
  }
  return false;
}

template <auto kMember>
constexpr RequestLogField count_field(std::string_view name) {
  return {name, false, false, get_count<kMember>, set_count<kMember>};
}

template <auto kMember>
constexpr RequestLogField time_field(std::string_view name, bool optional) {
  return {name, false, optional, get_time<kMember>, set_time<kMember>};
}

template <Stage kStage>
constexpr RequestLogField stage_field(std::string_view name) {
  return {name, false, false, get_stage<kStage>, set_stage<kStage>};
}

using R = RequestRecord;

constexpr RequestLogField kFields[] = {
    {"id", true, true, get_text<&R::id>, set_text<&R::id>},
    time_field<&R::arrival_s>("arrival_s", false),
    count_field<&R::prompt_tokens>("prompt_tokens"),
    count_field<&R::cached_tokens>("cached_tokens"),
    count_field<&R::output_tokens>("output_tokens"),
    {"reason", true, false, get_reason, set_reason},
    {"error", true, true, get_error, set_error},
    {"error_origin", true, true, get_text<&R::error_origin>, set_text<&R::error_origin>},
    time_field<&R::ttft_ms>("ttft_ms", true),
    time_field<&R::tpot_ms>("tpot_ms", true),
    time_field<&R::itl_max_ms>("itl_max_ms", true),
    time_field<&R::e2e_ms>("e2e_ms", false),
    stage_field<Stage::route>("route_ms"),
    stage_field<Stage::wait_decode_slot>("wait_decode_slot_ms"),
    stage_field<Stage::queue_prefill>("queue_prefill_ms"),
    stage_field<Stage::prefill>("prefill_ms"),
    stage_field<Stage::transfer_exposed>("transfer_exposed_ms"),
    stage_field<Stage::queue_decode>("queue_decode_ms"),
    stage_field<Stage::decode>("decode_ms"),
    stage_field<Stage::deliver>("deliver_ms"),
    {"prefill_rank", true, true, get_rank<&R::prefill>, set_rank<&R::prefill>},
    {"decode_rank", true, true, get_rank<&R::decode>, set_rank<&R::decode>},
    count_field<&R::chunks>("chunks"),
    count_field<&R::pages>("pages"),
    count_field<&R::moved_bytes>("moved_bytes"),
    count_field<&R::retractions>("retractions"),
};

// RFC 4180: quoted where it holds a comma, a quote or the end of a line.
void quote_csv(std::string& out, std::size_t begin) {
  if (out.find_first_of(",\"\r\n", begin) == std::string::npos) {
    return;
  }
  std::string quoted = "\"";
  for (std::size_t i = begin; i < out.size(); ++i) {
    quoted.append(out[i] == '"' ? 2 : 1, out[i]);
  }
  quoted += '"';
  out.replace(begin, std::string::npos, quoted);
}

// RFC 8259. Bytes that are no UTF-8 stay as they are.
void quote_json(std::string& out, std::size_t begin) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (std::size_t i = begin; i < out.size(); ++i) {
    const char c = out[i];
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += "\\u00";
      quoted += kHex[static_cast<unsigned char>(c) >> 4];
      quoted += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  out.replace(begin, std::string::npos, quoted);
}

void append_csv(std::string& out, const RequestRecord& record) {
  bool first = true;
  for (const RequestLogField& field : kFields) {
    if (!first) {
      out += ',';
    }
    first = false;
    const std::size_t begin = out.size();
    if (field.get(record, out) && field.text) {
      quote_csv(out, begin);
    }
  }
  out += '\n';
}

void append_json(std::string& out, const RequestRecord& record) {
  char before = '{';
  for (const RequestLogField& field : kFields) {
    out += before;
    out += '"';
    out += field.name;
    out += "\":";
    before = ',';
    const std::size_t begin = out.size();
    if (!field.get(record, out)) {
      out += "null";
    } else if (field.text) {
      quote_json(out, begin);
    }
  }
  out += "}\n";
}

}  // namespace

std::span<const RequestLogField> request_log_fields() noexcept {
  return kFields;
}

std::optional<RequestLogFormat> request_log_format(std::string_view path) noexcept {
  if (path.ends_with(".csv")) {
    return RequestLogFormat::csv;
  }
  if (path.ends_with(".jsonl")) {
    return RequestLogFormat::jsonl;
  }
  return std::nullopt;
}

std::string request_log_header(RequestLogFormat format) {
  std::string header;
  if (format == RequestLogFormat::csv) {
    for (const RequestLogField& field : kFields) {
      header += header.empty() ? "" : ",";
      header += field.name;
    }
    header += '\n';
  }
  return header;
}

void append_request(std::string& out, const RequestRecord& record, RequestLogFormat format) {
  if (format == RequestLogFormat::csv) {
    append_csv(out, record);
  } else {
    append_json(out, record);
  }
}

}  // namespace baton
