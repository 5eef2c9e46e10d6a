#include "roles/request_log_reader.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "roles/request_log_fields.h"
#include "roles/request_log_text.h"
#include "runtime/errors.h"

namespace baton {
namespace {

constexpr std::size_t kLineMax = std::size_t{1} << 20;  // bytes: more is no record

// The cells of a whole record: line ends of both kinds, which may stand inside quotes as well.
bool split_record(std::string_view line, std::vector<std::string>& cells) {
  if (!split_csv(line, cells)) {
    return false;
  }
  if (cells.back().ends_with('\r') && line.ends_with('\r')) {
    cells.back().pop_back();
  }
  return true;
}

// The file, line by line, with the place for messages.
class Lines final {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) {
      throw Error(Errc::not_found, fmt::format("cannot read the request log {}", path));
    }
  }

  // The next line without its end; false at the end of the file.
  bool next(std::string& line) {
    ++number_;
    line.clear();
    if (!std::getline(file_, line)) {
      return false;
    }
    if (line.size() > kLineMax) {
      fail(fmt::format("a line of {} bytes is no record", line.size()));
    }
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Errc::bad_file, fmt::format("{}:{}: {}", path_, number_, what));
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::size_t number_ = 0;
};

const RequestLogField* find_field(std::string_view name) {
  for (const RequestLogField& field : request_log_fields()) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

void set(const Lines& lines, const RequestLogField& field, RequestRecord& record, std::string_view value) {
  if (!field.set(record, value)) {
    lines.fail(fmt::format("column {}: '{}' is not a value of it", field.name, value.substr(0, 40)));
  }
}

void check(const Lines& lines, const RequestRecord& record) {
  if (record.ok() == record.error.has_value()) {
    lines.fail("column error: set exactly when the reason is failure");
  }
  if (record.cached_tokens > record.prompt_tokens) {
    lines.fail(fmt::format("column cached_tokens: {} of a prompt of {}", record.cached_tokens, record.prompt_tokens));
  }
}

void read_csv(Lines& lines, const std::function<void(RequestRecord&&)>& take) {
  std::string line;
  std::vector<std::string> cells;
  if (!lines.next(line) || !split_record(line, cells)) {
    lines.fail("no header of column names");
  }
  std::vector<const RequestLogField*> columns;
  for (const std::string& name : cells) {
    columns.push_back(find_field(name));
  }
  for (const RequestLogField& field : request_log_fields()) {
    if (!field.optional && std::ranges::find(columns, &field) == columns.end()) {
      lines.fail(fmt::format("the header has no column {}", field.name));
    }
  }
  while (lines.next(line)) {
    while (!split_record(line, cells)) {  // a quoted cell goes on in the next line
      std::string more;
      if (!lines.next(more) || line.size() > kLineMax) {
        lines.fail("a quote is not closed");
      }
      line += '\n';
      line += more;
    }
    if (cells.size() != columns.size()) {
      lines.fail(fmt::format("{} cells, the header has {}", cells.size(), columns.size()));
    }
    RequestRecord record;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != nullptr && !(columns[i]->optional && cells[i].empty())) {
        set(lines, *columns[i], record, cells[i]);
      }
    }
    check(lines, record);
    take(std::move(record));
  }
}

void read_jsonl(Lines& lines, const std::function<void(RequestRecord&&)>& take) {
  std::string line;
  std::vector<JsonMember> members;
  while (lines.next(line)) {
    if (const std::string fault = split_json(line, members); !fault.empty()) {
      lines.fail(fault);
    }
    RequestRecord record;
    for (const JsonMember& member : members) {
      const RequestLogField* field = find_field(member.name);
      if (field == nullptr || (field->optional && member.kind == JsonMember::Kind::null)) {
        continue;
      }
      if (member.kind != (field->text ? JsonMember::Kind::string : JsonMember::Kind::number)) {
        lines.fail(fmt::format("column {}: not a {}", field->name, field->text ? "string" : "number"));
      }
      set(lines, *field, record, member.value);
    }
    for (const RequestLogField& field : request_log_fields()) {
      if (!field.optional && std::ranges::find(members, field.name, &JsonMember::name) == members.end()) {
        lines.fail(fmt::format("no column {}", field.name));
      }
    }
    check(lines, record);
    take(std::move(record));
  }
}

}  // namespace

void read_request_log(const std::string& path, const std::function<void(RequestRecord&&)>& take) {
  const std::optional<RequestLogFormat> format = request_log_format(path);
  if (!format) {
    throw Error(Errc::invalid_argument, fmt::format("the request log {} ends in neither .csv nor .jsonl", path));
  }
  Lines lines(path);
  if (*format == RequestLogFormat::csv) {
    read_csv(lines, take);
  } else {
    read_jsonl(lines, take);
  }
}

std::vector<RequestRecord> read_request_log(const std::string& path) {
  std::vector<RequestRecord> records;
  read_request_log(path, [&records](RequestRecord&& record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace baton
