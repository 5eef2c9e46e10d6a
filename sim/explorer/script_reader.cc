#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "runtime/errors.h"
#include "runtime/text_file.h"
#include "sim/explorer/script.h"
#include "sim/explorer/script_fields.h"
#include "sim/explorer/script_values.h"

namespace baton::chaos {
namespace {

// Where a value stands, for messages.
struct Place {
  std::string file;
  std::string key;

  [[noreturn]] void refuse(const toml::node& node, const std::string& why) const {
    throw Error(Errc::invalid_argument, fmt::format("{}:{}: {}: {}", file, node.source().begin.line, key, why));
  }
};

std::uint64_t whole_number(const toml::node& node, const Place& place, CountRange range) {
  const auto* value = node.as_integer();
  if (value == nullptr || value->get() < 0 || static_cast<std::uint64_t>(value->get()) < range.min ||
      static_cast<std::uint64_t>(value->get()) > range.max) {
    place.refuse(node, fmt::format("a whole number from {} to {} is wanted", range.min, range.max));
  }
  return static_cast<std::uint64_t>(value->get());
}

std::uint64_t wide_number(const toml::node& node, const Place& place) {
  if (const auto* value = node.as_integer(); value != nullptr && value->get() >= 0) {
    return static_cast<std::uint64_t>(value->get());
  }
  const auto* word = node.as_string();
  const auto value = word == nullptr ? std::nullopt : parse_wide(word->get());
  if (!value) {
    place.refuse(node, "a number of 64 bits is wanted, such as 17 or \"0x11\"");
  }
  return *value;
}

Duration time_of(const toml::node& node, const Place& place) {
  std::optional<Duration> time;
  if (const auto* word = node.as_string()) {
    time = parse_time(word->get());
  } else if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
    time = std::chrono::microseconds(std::min(number->get(), most));
  }
  if (!time || *time > kTimeMax) {
    place.refuse(node,
                 fmt::format("a time such as \"1.5ms\", or microseconds, up to {} is wanted", time_text(kTimeMax)));
  }
  return *time;
}

std::vector<Traffic> all_traffic() {
  std::vector<Traffic> all;
  for (std::size_t i = 0; i < kTraffic; ++i) {
    all.push_back(static_cast<Traffic>(i));
  }
  return all;
}

std::optional<Traffic> find_traffic(std::string_view name) {
  for (const Traffic traffic : all_traffic()) {
    if (name == to_string(traffic)) {
      return traffic;
    }
  }
  return std::nullopt;
}

template <class Values>
std::string words_of(const Values& values) {
  std::string words;
  for (const auto value : values) {
    words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", to_string(value));
  }
  return words;
}

// Takes the known fields out of one table; what is left over then has no meaning.
class Reader final {
 public:
  Reader(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  void count(const char* key, std::uint32_t& field, CountRange range) {
    if (const toml::node* node = take(key)) {
      field = static_cast<std::uint32_t>(whole_number(*node, place(key), range));
    }
  }
  void count(const char* key, std::optional<std::uint32_t>& field, CountRange range) {
    if (const toml::node* node = take(key)) {
      field = static_cast<std::uint32_t>(whole_number(*node, place(key), range));
    }
  }
  void wide(const char* key, std::uint64_t& field) {
    if (const toml::node* node = take(key)) {
      field = wide_number(*node, place(key));
    }
  }
  void flag(const char* key, bool& field) {
    if (const toml::node* node = take(key)) {
      const auto* value = node->as_boolean();
      if (value == nullptr) {
        place(key).refuse(*node, "true or false is wanted");
      }
      field = value->get();
    }
  }
  void time(const char* key, Duration& field) {
    if (const toml::node* node = take(key)) {
      field = time_of(*node, place(key));
    }
  }
  void time(const char* key, std::optional<Duration>& field) {
    if (const toml::node* node = take(key)) {
      field = time_of(*node, place(key));
    }
  }
  void rate(const char* key, double& field) {
    if (const toml::node* node = take(key)) {
      const std::optional<double> value = node->value<double>();
      const bool number = node->is_number();
      if (!number || !value || !(*value >= 0 && *value <= 1)) {
        place(key).refuse(*node, "a number from 0 to 1 is wanted");
      }
      field = *value;
    }
  }
  void fault(const char* key, Fault& field, std::span<const Fault> possible) {
    const toml::node& node = need(key);
    const auto* word = node.as_string();
    const auto fault = word == nullptr ? std::nullopt : find_fault(word->get());
    if (!fault || std::ranges::find(possible, *fault) == possible.end()) {
      place(key).refuse(node, "one of " + words_of(possible) + " is wanted");
    }
    field = *fault;
  }
  void traffic(const char* key, Traffic& field) {
    const toml::node& node = need(key);
    const auto* word = node.as_string();
    const auto traffic = word == nullptr ? std::nullopt : find_traffic(word->get());
    if (!traffic) {
      place(key).refuse(node, "one of " + words_of(all_traffic()) + " is wanted");
    }
    field = *traffic;
  }
  void rank(const char* key, RankId& field) {
    const toml::node& node = need(key);
    const auto* word = node.as_string();
    const auto rank = word == nullptr ? std::nullopt : parse_rank(word->get());
    if (!rank) {
      place(key).refuse(node, "a rank such as \"prefill/0\" is wanted");
    }
    field = *rank;
  }
  void keys(const char* key, std::optional<std::vector<std::uint64_t>>& field) {
    const toml::node* node = take(key);
    if (node == nullptr) {
      return;
    }
    field.emplace();
    for (const toml::node& element : elements(key, *node)) {
      field->push_back(wide_number(element, place(key)));
    }
    std::ranges::sort(*field);
  }
  template <class Fields>
  void table(const char* key, Fields& fields) {
    if (const toml::node* node = take(key)) {
      read_table(key, *node, fields);
    }
  }
  template <class Fields>
  void list(const char* key, std::vector<Fields>& fields, std::size_t most) {
    const toml::node* node = take(key);
    if (node == nullptr) {
      return;
    }
    for (const toml::node& element : elements(key, *node)) {
      if (fields.size() == most) {
        place(key).refuse(element, fmt::format("more than {}", most));
      }
      read_table(key, element, with_default(fields));
    }
  }

  void refuse_what_is_left() const {
    for (const auto& [key, node] : table_) {
      if (!taken_.contains(std::string(key.str()))) {
        throw Error(Errc::invalid_argument, fmt::format("{}:{}: unknown key '{}'; known here: {}", file_,
                                                        key.source().begin.line, key.str(), fmt::join(taken_, ", ")));
      }
    }
  }

 private:
  static ClientPlan& with_default(std::vector<ClientPlan>& clients) {
    ClientPlan& client = clients.emplace_back();
    client.index = static_cast<std::uint32_t>(clients.size() - 1);
    return client;
  }
  template <class Fields>
  static Fields& with_default(std::vector<Fields>& fields) {
    return fields.emplace_back();
  }

  template <class Fields>
  void read_table(const char* key, const toml::node& node, Fields& fields) {
    const auto* table = node.as_table();
    if (table == nullptr) {
      place(key).refuse(node, "a table such as { key = value } is wanted");
    }
    Reader reader(*table, file_);
    visit_fields(reader, fields);
    reader.refuse_what_is_left();
  }
  const toml::array& elements(const char* key, const toml::node& node) const {
    const auto* array = node.as_array();
    if (array == nullptr) {
      place(key).refuse(node, "a list is wanted");
    }
    return *array;
  }
  const toml::node* take(const char* key) {
    taken_.insert(key);
    return table_.get(key);
  }
  const toml::node& need(const char* key) {
    const toml::node* node = take(key);
    if (node == nullptr) {
      place(key).refuse(table_, "missing");
    }
    return *node;
  }
  Place place(const char* key) const { return {file_, key}; }

  const toml::table& table_;
  std::string file_;
  std::set<std::string> taken_;
};

// What is right in each field and yet wrong together.
void check_clients(const Scenario& scenario, const toml::table& table, const std::string& file) {
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < scenario.clients.size(); ++i) {
    const ClientPlan& client = scenario.clients[i];
    const toml::node& node = *table["clients"].as_array()->get(i);
    if (client.router >= scenario.routers) {
      Place{file, "router"}.refuse(node, fmt::format("{} of {}, counted from 0", client.router, scenario.routers));
    }
    if (!seen.insert(client.index).second) {
      Place{file, "index"}.refuse(node, fmt::format("two clients are number {}", client.index));
    }
    if (client.time_limit == Duration{0}) {
      Place{file, "time_limit"}.refuse(node, "a request needs some time");
    }
    if (client.stop_after && *client.stop_after > client.max_tokens) {
      Place{file, "stop_after"}.refuse(node, fmt::format("{} is more than max_tokens", *client.stop_after));
    }
  }
}

void check_faults(const Scenario& scenario, const toml::table& table, const std::string& file) {
  for (std::size_t i = 0; i < scenario.timed.size(); ++i) {
    const TimedFault& timed = scenario.timed[i];
    const toml::node& node = *table["timed"].as_array()->get(i);
    const bool between = timed.fault == Fault::partition;
    for (const RankId rank : {timed.rank, between ? timed.to : timed.rank}) {
      if (!has_rank(scenario, rank)) {
        Place{file, "rank"}.refuse(node, fmt::format("there is no {}", to_string(rank)));
      }
    }
    if (!between && timed.fault != Fault::freeze && timed.rank.role == Role::router) {
      Place{file, "rank"}.refuse(node, fmt::format("a {} is of a prefill or decode rank", to_string(timed.fault)));
    }
  }
}

}  // namespace

Scenario parse_script(std::string_view text, const std::string& name) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error(Errc::bad_file, fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
  Scenario scenario;
  Reader reader(table, name);
  visit_fields(reader, scenario);
  reader.refuse_what_is_left();
  check_clients(scenario, table, name);
  check_faults(scenario, table, name);
  return scenario;
}

Scenario read_script(const std::string& path) {
  return parse_script(read_text_file(path), path);
}

}  // namespace baton::chaos
