#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/task.h"
#include "tools/baton/commands.h"
#include "tools/baton/pipeline.h"
#include "tools/baton/timeline_text.h"
#include "tools/baton/trace_file.h"

namespace baton {
namespace {

std::string prompt_text(const std::string& prompt) {
  if (prompt != "-") {
    return prompt;
  }
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::vector<TokenId> prompt_tokens(const Pipeline& pipeline, const GenerateSettings& settings) {
  const std::string prompt = prompt_text(settings.prompt);
  EncodeOptions options;
  options.add_special = true;
  if (!settings.chat) {
    return pipeline.tokenizer().encode(prompt, options);
  }
  if (!pipeline.chat_template()) {
    throw Error(Errc::invalid_argument, "--chat: this model has no chat template that baton knows");
  }
  std::vector<ChatMessage> messages;
  if (!settings.system.empty()) {
    messages.emplace_back("system", settings.system);
  }
  messages.emplace_back("user", prompt);
  const auto segments = pipeline.chat_template()->render(messages);
  return pipeline.tokenizer().encode(segments);
}

GenerationRequest make_request(const Pipeline& pipeline, const GenerateSettings& settings) {
  GenerationRequest request;
  request.prompt = prompt_tokens(pipeline, settings);
  request.sampling.temperature = static_cast<float>(settings.temperature);
  request.sampling.top_k = static_cast<std::int32_t>(settings.top_k);
  request.sampling.top_p = static_cast<float>(settings.top_p);
  request.sampling.min_p = static_cast<float>(settings.min_p);
  request.sampling.repetition_penalty = static_cast<float>(settings.repetition_penalty);
  request.sampling.seed = Random(pipeline.seed()).fork(4).next();
  request.stop.max_tokens = settings.max_tokens;
  request.stop.stop_strings = settings.stop;
  request.stop.ignore_eos = settings.ignore_eos;
  return request;
}

void show(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Shows the text as it comes and hands out how it ended; then lets the ranks go.
Task<> stream(LocalNode& node, GenerationRequest request, FinishEvent& finish) {
  const auto generation = node.router().start(std::move(request));
  for (;;) {
    auto event = co_await generation->next();
    if (!event) {
      break;
    }
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      show(token->text);
    } else {
      finish = std::get<FinishEvent>(std::move(*event));
      show(finish.text);
    }
  }
  node.router().stop();
  node.stop();
}

// On a rank's thread, which has ended by a fault: the request would hang, and nobody else depends on this process.
void give_up(std::exception_ptr fault) {
  try {
    std::rethrow_exception(std::move(fault));
  } catch (const std::exception& error) {
    fmt::print(stderr, "\nbaton generate: a rank failed: {}\n", error.what());
  }
  std::_Exit(kExitFailed);
}

int report(const FinishEvent& finish, bool json) {
  show("\n");
  if (finish.failure) {
    fmt::print(stderr, "baton generate: {} ({}, found by {})\n", finish.failure->message,
               to_string(finish.failure->code), finish.failure->origin);
    const bool input = finish.failure->code == Errc::invalid_argument || finish.failure->code == Errc::too_large;
    return input ? kExitBadInput : kExitFailed;
  }
  fmt::print(stderr, "{}", json ? timeline_json(finish) : "\n" + timeline_text(finish));
  return kExitOk;
}

}  // namespace

GenerateCommand::GenerateCommand() {
  add_settings(table_, generate_);
  add_settings(table_, pipeline_);
}

Command GenerateCommand::command() {
  Command command;
  command.name = "generate";
  command.summary = "Generates from one prompt and shows how the request travelled";
  command.examples =
      "Examples:\n"
      "  baton generate --chat --prompt 'Name three rivers.'\n"
      "  baton generate --prompt 'Once upon a time' --max-tokens 64 --temperature 0.8 --seed 7\n"
      "  baton generate --prompt - --mode aggregated < story.txt";
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

int GenerateCommand::run() {
  check(table_, pipeline_);
  check(table_, generate_);
  RealContext front;
  MetricsRegistry metrics;
  Pipeline pipeline(pipeline_, front, metrics);
  GenerationRequest request = make_request(pipeline, generate_);
  FinishEvent finish;
  Scope scope(front, "front");
  pipeline.node().start(give_up);
  {
    const Context::Inside inside(front);
    scope.spawn("router", pipeline.node().node().run_front());
    scope.spawn("generate", stream(pipeline.node(), std::move(request), finish));
  }
  front.stop();  // run() still works until both have ended
  front.run();
  pipeline.node().stop();
  pipeline.node().join();
  if (!pipeline_.trace.empty()) {
    write_trace(pipeline_.trace, pipeline.node().node().trace());
  }
  scope.rethrow_error();
  return report(finish, generate_.json);
}

}  // namespace baton
