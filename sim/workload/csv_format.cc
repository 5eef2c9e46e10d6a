// The formats that are tables with a header: one description each, one class for all.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"
#include "sim/workload/csv_row.h"
#include "sim/workload/row_format.h"

namespace baton::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Columns by name, in small letters; nullptr: the format has none.
struct CsvLayout {
  TraceFormat format;
  const char* arrival;
  bool is_date;  // the arrival; otherwise seconds
  const char* input;
  const char* output;
  const char* id;        // may be absent from a file
  const char* session;   // may be absent from a file
  const char* one_only;  // a column that must hold 1
};

constexpr std::array kLayouts{
    CsvLayout{TraceFormat::azure, "timestamp", true, "contexttokens", "generatedtokens", nullptr, nullptr, nullptr},
    CsvLayout{TraceFormat::burstgpt, "timestamp", false, "request tokens", "response tokens", nullptr, "session id",
              nullptr},
    CsvLayout{TraceFormat::vidur, "arrived_at", false, "num_prefill_tokens", "num_decode_tokens", nullptr, nullptr,
              nullptr},
    CsvLayout{TraceFormat::splitwise, "arrival_timestamp", false, "prompt_size", "token_size", "request_id", nullptr,
              "batch_size"},
    CsvLayout{TraceFormat::lengths, nullptr, false, "num_prefill_tokens", "num_decode_tokens", nullptr, nullptr,
              nullptr},
};

struct Column {
  std::string name;  // as the file spells it
  std::size_t index = 0;
};

class CsvFormat final : public RowFormat {
 public:
  explicit CsvFormat(const CsvLayout& layout) : layout_(layout) {}

  void read(const RowPlace& place, std::string_view text, std::vector<TraceRow>& rows) override {
    row_.read(place, text, columns_);
    if (columns_ == 0) {
      read_header(place);
      return;
    }
    rows.push_back(row_of(place));
  }

 private:
  TraceRow row_of(const RowPlace& place) const {
    TraceRow row;
    TraceRequest& request = row.request;
    if (arrival_) {
      const std::string_view text = row_[arrival_->index];
      request.arrival = layout_.is_date ? parse_date_time(place, arrival_->name, text)
                                        : parse_time(place, arrival_->name, text, kSecond);
    }
    request.input_tokens = parse_tokens(place, input_->name, row_[input_->index], 1);
    request.output_tokens = parse_tokens(place, output_->name, row_[output_->index], 0);
    if (id_) {
      request.id = row_[id_->index];
    }
    if (session_ && !row_[session_->index].empty()) {
      request.session = id_of(row_[session_->index]);
    }
    if (one_only_ && parse_tokens(place, one_only_->name, row_[one_only_->index], 1) != 1) {
      refuse_field(place, one_only_->name, row_[one_only_->index], "only rows of one request each are understood");
    }
    return row;
  }

  void read_header(const RowPlace& place) {
    columns_ = row_.size();
    arrival_ = column(place, layout_.arrival, true);
    input_ = column(place, layout_.input, true);
    output_ = column(place, layout_.output, true);
    id_ = column(place, layout_.id, false);
    session_ = column(place, layout_.session, false);
    one_only_ = column(place, layout_.one_only, false);
  }

  std::optional<Column> column(const RowPlace& place, const char* name, bool needed) const {
    if (name == nullptr) {
      return std::nullopt;
    }
    const auto same = [name](std::string_view field) {
      return std::ranges::equal(field, std::string_view(name), {},
                                [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    };
    const auto found = std::ranges::find_if(row_.fields(), same);
    if (found != row_.fields().end()) {
      return Column{std::string(*found), static_cast<std::size_t>(found - row_.fields().begin())};
    }
    if (needed) {
      refuse_row(place, fmt::format("the header of a {} trace has a column '{}', this one has not",
                                    to_string(layout_.format), name));
    }
    return std::nullopt;
  }

  const CsvLayout& layout_;
  CsvRow row_;
  std::size_t columns_ = 0;  // 0: the header was not read yet
  std::optional<Column> arrival_;
  std::optional<Column> input_;
  std::optional<Column> output_;
  std::optional<Column> id_;
  std::optional<Column> session_;
  std::optional<Column> one_only_;
};

}  // namespace

std::unique_ptr<RowFormat> make_csv_format(TraceFormat format) {
  const auto* layout = std::ranges::find(kLayouts, format, &CsvLayout::format);
  BATON_CHECK(layout != kLayouts.end(), to_string(format));
  return std::make_unique<CsvFormat>(*layout);
}

}  // namespace baton::sim
