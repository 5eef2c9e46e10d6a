#include "sim/calibrate/step_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "runtime/text_file.h"
#include "sim/cost/csv_table.h"

namespace baton::sim {
namespace {

constexpr const char* kHeader =
    "rank,begin_s,seconds,prefill_sequences,prefill_tokens,prefill_pairs,prefill_context,decode_sequences,"
    "decode_context,decode_tokens,decode_context_max,sampled";

RankId rank_of(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string& word = table.word(row, column);
  const std::size_t slash = word.find('/');
  for (const Role role : {Role::prefill, Role::decode, Role::aggregated}) {
    if (word.substr(0, slash) == to_string(role) && slash != std::string::npos) {
      return {role, static_cast<std::uint32_t>(std::strtoul(word.c_str() + slash + 1, nullptr, 10))};
    }
  }
  throw Error(Errc::bad_file,
              fmt::format("{}:{}: rank: '{}' is no rank such as decode/0", table.name(), table.line(row), word));
}

// "# name = value" lines, emptied, so that the numbers of the others stay right.
std::map<std::string, std::string> take_settings(std::string& text) {
  std::map<std::string, std::string> settings;
  std::size_t begin = 0;
  while (begin < text.size() && text[begin] == '#') {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin + 1, end - begin - 1);
    if (const std::size_t equals = line.find(" = "); equals != std::string::npos) {
      settings[line.substr(line.find_first_not_of(' '), equals - line.find_first_not_of(' '))] =
          line.substr(equals + 3);
    }
    begin = std::min(end + 1, text.size());
  }
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  text.replace(0, begin, static_cast<std::size_t>(lines), '\n');
  return settings;
}

}  // namespace

StepLogWriter::StepLogWriter(std::string path, const std::map<std::string, std::string>& settings)
    : file_(std::fopen(path.c_str(), "w")) {
  if (!file_) {
    throw Error(Errc::unavailable, fmt::format("cannot write {}", path));
  }
  for (const auto& [name, value] : settings) {
    fmt::print(file_.get(), "# {} = {}\n", name, value);
  }
  fmt::print(file_.get(), "{}\n", kHeader);
}

StepLogWriter::~StepLogWriter() = default;

void StepLogWriter::write(const LoggedStep& step) {
  const StepLoad& load = step.load;
  const std::string line = fmt::format("{},{:.6f},{:.9f},{},{},{},{},{},{},{},{},{}\n", to_string(step.rank),
                                       step.begin_s, step.seconds, load.prefill_sequences, load.prefill_tokens,
                                       load.prefill_pairs, load.prefill_context, load.decode_sequences,
                                       load.decode_context, load.decode_tokens, load.decode_context_max, load.sampled);
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

StepLog read_step_log(const std::string& path) {
  std::string text = read_text_file(path);
  StepLog log;
  log.settings = take_settings(text);
  const CsvTable table = CsvTable::parse(text, path);
  const auto column = [&table](const char* name) { return table.column(name); };
  const std::size_t rank = column("rank");
  const std::array<std::size_t, 8> at = {
      column("begin_s"),       column("seconds"),         column("prefill_sequences"), column("prefill_tokens"),
      column("prefill_pairs"), column("prefill_context"), column("decode_sequences"),  column("decode_context")};
  const std::size_t decode_tokens = column("decode_tokens");
  const std::size_t context_max = column("decode_context_max");
  const std::size_t sampled = column("sampled");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&table, row](std::size_t index) { return table.number(row, index); };
    LoggedStep step;
    step.rank = rank_of(table, row, rank);
    step.begin_s = number(at[0]);
    step.seconds = number(at[1]);
    step.load.prefill_sequences = static_cast<std::uint32_t>(number(at[2]));
    step.load.prefill_tokens = static_cast<std::uint64_t>(number(at[3]));
    step.load.prefill_pairs = number(at[4]);
    step.load.prefill_context = static_cast<std::uint64_t>(number(at[5]));
    step.load.decode_sequences = static_cast<std::uint32_t>(number(at[6]));
    step.load.decode_context = static_cast<std::uint64_t>(number(at[7]));
    step.load.decode_tokens = static_cast<std::uint32_t>(number(decode_tokens));
    step.load.decode_context_max = static_cast<std::uint32_t>(number(context_max));
    step.load.sampled = static_cast<std::uint32_t>(number(sampled));
    log.steps.push_back(step);
  }
  return log;
}

}  // namespace baton::sim
