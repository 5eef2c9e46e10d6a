// The byte form of what crosses between ranks: a kind and a version, the fields in order, and a checksum over both.
//
//   u32 kind | u16 version | fields, little-endian | u64 XXH64 of everything before
//
// Decoding takes hostile bytes: it is bounds-checked, allocates no more than a multiple of the message's own length,
// and fails with Errc::corrupt. What the values mean is checked by those who use them.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/errors.h"
#include "transport/bytes.h"
#include "transport/transfer.h"

namespace baton {

Bytes encode(const Landing& landing);
Bytes encode(const SideRecord& record);

Result<Landing> decode_landing(std::span<const std::byte> message);
Result<SideRecord> decode_side_record(std::span<const std::byte> message);

}  // namespace baton
