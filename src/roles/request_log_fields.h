// The columns of a request log: one table for writing and reading, CSV and JSON.
//
// Numbers are written so that reading gives the same bits, whatever the locale (std::to_chars), and what a record does
// not have is an empty cell or a null.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "roles/request_log_record.h"

namespace baton {

struct RequestLogField {
  std::string_view name;
  bool text;      // a string; else a number
  bool optional;  // a record may lack it

  // Appends the value; false, and nothing appended, if the record has none.
  bool (*get)(const RequestRecord&, std::string&);
  // False if the value cannot be one of this column.
  bool (*set)(RequestRecord&, std::string_view);
};

// In the order in which they are written.
std::span<const RequestLogField> request_log_fields() noexcept;

enum class RequestLogFormat : std::uint8_t { csv, jsonl };

// By the end of the file's name: .csv or .jsonl; nullopt for another one.
std::optional<RequestLogFormat> request_log_format(std::string_view path) noexcept;

std::string request_log_header(RequestLogFormat format);  // first line with its end; empty for JSONL

// Appends one line with its end.
void append_request(std::string& out, const RequestRecord& record, RequestLogFormat format);

}  // namespace baton
