#include "roles/generation.h"

namespace baton {

const char* to_string(Stage stage) noexcept {
  switch (stage) {
    case Stage::route:
      return "route";
    case Stage::wait_decode_slot:
      return "wait_decode_slot";
    case Stage::queue_prefill:
      return "queue_prefill";
    case Stage::prefill:
      return "prefill";
    case Stage::transfer_exposed:
      return "transfer_exposed";
    case Stage::queue_decode:
      return "queue_decode";
    case Stage::decode:
      return "decode";
    case Stage::deliver:
      return "deliver";
  }
  return "unknown stage";
}

}  // namespace baton
