// A set-up of a model and a kind of hardware from data/, by name.
#pragma once

#include "sim/cost/step_setup.h"

namespace baton::sim {

inline StepSetup setup_of(const char* model, const char* hardware, Parallel parallel = {}) {
  StepSetup setup;
  setup.model = load_model(model);
  setup.hardware = load_hardware(hardware);
  setup.parallel = parallel;
  return setup;
}

}  // namespace baton::sim
