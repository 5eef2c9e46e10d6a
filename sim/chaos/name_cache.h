// NameCache: what follows from an event's name, worked out once for each string literal and not once for each event.
//
// Direct-mapped by address: two names that meet push each other out, so a value must follow from the letters alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace baton::chaos {

template <class Value>
class NameCache final {
 public:
  // The value of a name, a string literal; `work_out` gives it from the letters.
  template <class WorkOut>
  const Value& operator()(const char* name, WorkOut work_out) {
    const auto address = reinterpret_cast<std::uintptr_t>(name);
    Place& place = places_[((address >> 8) ^ address) % places_.size()];
    if (place.name != name) {
      place = {name, work_out(std::string_view(name))};
    }
    return place.value;
  }

 private:
  struct Place {
    const char* name = nullptr;
    Value value{};
  };
  std::array<Place, 256> places_{};
};

}  // namespace baton::chaos
