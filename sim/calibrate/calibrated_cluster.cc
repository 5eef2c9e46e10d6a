#include "sim/calibrate/calibrated_cluster.h"

#include <fmt/format.h>

#include "runtime/errors.h"

namespace baton::sim {
namespace {

const std::string& setting(const StepLog& log, const char* name) {
  const auto found = log.settings.find(name);
  if (found == log.settings.end()) {
    throw Error(Errc::invalid_argument, fmt::format("the step log does not say '# {} = ...'", name));
  }
  return found->second;
}

std::string pool_toml(const StepLog& log, const std::map<Role, LawFit>& fits, Role role, const std::string& ranks) {
  const auto found = fits.find(role);
  if (found == fits.end()) {
    throw Error(Errc::invalid_argument, fmt::format("the step log has no steps of {} ranks", to_string(role)));
  }
  std::string text = fmt::format("\n[{}]\nranks = {}\nhardware = \"cpu\"\ncost = \"law\"\nkv_tokens = {}\n",
                                 to_string(role), ranks, setting(log, "kv_tokens"));
  if (role != Role::decode) {
    text += fmt::format("step_tokens = {}\n", setting(log, "chunk"));
    text += fmt::format("prefix_cache = {}\n", setting(log, "prefix_cache"));
  }
  if (role != Role::prefill) {
    text +=
        fmt::format("running_max = {}\nlookahead_tokens = {}\n", setting(log, "running"), setting(log, "lookahead"));
  }
  return text + fmt::format("\n[{}.law]\n{}", to_string(role), law_toml(found->second.law));
}

}  // namespace

std::string calibrated_cluster(const StepLog& log, const std::map<Role, LawFit>& fits) {
  std::string text = fmt::format(
      "# Fitted to the step log of a server.\nname = \"calibrated\"\nmodel = "
      "\"smollm2-135m\"\npage_tokens = {}\n",
      setting(log, "page_tokens"));
  if (setting(log, "mode") == "aggregated") {
    return text + pool_toml(log, fits, Role::aggregated, setting(log, "decode"));
  }
  text += pool_toml(log, fits, Role::prefill, setting(log, "prefill"));
  text += pool_toml(log, fits, Role::decode, setting(log, "decode"));
  return text + "\n[links]\ninfinite = true\n";
}

}  // namespace baton::sim
