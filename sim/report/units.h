// Numbers as people read them: three or four digits and a unit that fits. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace baton::sim {

std::string time_text(double seconds);   // "850 ms", "12.3 s", "1 h 02 min"
std::string bytes_text(double bytes);    // "1.25 GB", powers of 1000
std::string count_text(double count);    // "12,031", "1.2 M" from ten million on
std::string percent_text(double share);  // "93.8 %"
std::string significant(double value);   // "0.00123", "1.23", "12.3", "1234": at least three digits

}  // namespace baton::sim
