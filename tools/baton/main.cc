// The program: `baton serve`, `baton generate`, `baton devices`, `baton model info`, `baton chaos`, `baton sim`,
// `baton trace info`, `baton trace convert`.
#include <vector>

#include "tools/baton/chaos_command.h"
#include "tools/baton/command_line.h"
#include "tools/baton/commands.h"
#include "tools/baton/sim_command.h"
#include "tools/baton/trace_command.h"

int main(int argc, char** argv) {
  baton::ServeCommand serve;
  baton::GenerateCommand generate;
  baton::DevicesCommand devices;
  baton::ModelInfoCommand model_info;
  baton::ChaosCommand chaos;
  baton::SimCommand sim;
  baton::TraceInfoCommand trace_info;
  baton::TraceConvertCommand trace_convert;
  std::vector<baton::Command> commands = {serve.command(),      generate.command(),     devices.command(),
                                          model_info.command(), chaos.command(),        sim.command(),
                                          trace_info.command(), trace_convert.command()};
  return baton::run_command_line(argc, argv, commands);
}
