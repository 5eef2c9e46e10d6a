#include "transport/wire.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "model/text/sampling.h"
#include "runtime/mutants.h"

namespace baton {
namespace {

constexpr std::uint32_t kLandingKind = 0x4c4e5442;     // "BTNL"
constexpr std::uint32_t kSideRecordKind = 0x524e5442;  // "BTNR"
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 8;

ByteWriter begin(std::uint32_t kind) {
  ByteWriter writer;
  writer.put(kind);
  writer.put(kVersion);
  return writer;
}

Bytes seal(ByteWriter writer) {
  const std::uint64_t checksum = XXH64(writer.bytes().data(), writer.bytes().size(), 0);
  writer.put(checksum);
  return writer.take();
}

// A reader of the fields, or nothing if the envelope is not that of a whole message of this kind and version.
std::optional<ByteReader> unseal(std::span<const std::byte> message, std::uint32_t kind) {
  if (message.size() < kChecksumBytes) {
    return std::nullopt;
  }
  const auto body = message.first(message.size() - kChecksumBytes);
  ByteReader tail(message.last(kChecksumBytes));
  ByteReader reader(body);
  const bool whole = tail.get<std::uint64_t>() == XXH64(body.data(), body.size(), 0);
  if (!whole && !mutant(Mutant::torn_record_passes)) {
    return std::nullopt;
  }
  if (reader.get<std::uint32_t>() != kind || reader.get<std::uint16_t>() != kVersion) {
    return std::nullopt;
  }
  return reader;
}

void put(ByteWriter& writer, const InstanceId& id) {
  writer.put(id.high);
  writer.put(id.low);
}

InstanceId get_instance(ByteReader& reader) {
  InstanceId id;
  id.high = reader.get<std::uint64_t>();
  id.low = reader.get<std::uint64_t>();
  return id;
}

void put(ByteWriter& writer, const TransferId& id) {
  put(writer, id.target);
  writer.put(id.room.value);
}

TransferId get_transfer(ByteReader& reader) {
  TransferId id;
  id.target = get_instance(reader);
  id.room.value = reader.get<std::uint64_t>();
  return id;
}

void put(ByteWriter& writer, const PeerId& peer) {
  writer.put(static_cast<std::uint8_t>(peer.rank.role));
  writer.put(peer.rank.index);
  put(writer, peer.instance);
}

// Nothing if the role is none of ours.
std::optional<PeerId> get_peer(ByteReader& reader) {
  PeerId peer;
  const auto role = reader.get<std::uint8_t>();
  peer.rank.role = static_cast<Role>(role);
  peer.rank.index = reader.get<std::uint32_t>();
  peer.instance = get_instance(reader);
  if (role > static_cast<std::uint8_t>(Role::aggregated)) {
    return std::nullopt;
  }
  return peer;
}

void put(ByteWriter& writer, const SampledToken& token) {
  writer.put(static_cast<std::uint32_t>(token.id));
  writer.put_float(token.logprob);
  writer.put(static_cast<std::uint32_t>(token.top.size()));
  for (const TokenLogprob& entry : token.top) {
    writer.put(static_cast<std::uint32_t>(entry.id));
    writer.put_float(entry.logprob);
  }
}

SampledToken get_token(ByteReader& reader) {
  SampledToken token;
  token.id = static_cast<TokenId>(reader.get<std::uint32_t>());
  token.logprob = reader.get_float();
  const std::uint32_t count = reader.get_count(8, kTopLogprobsMax);
  token.top.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto id = static_cast<TokenId>(reader.get<std::uint32_t>());
    const float logprob = reader.get_float();
    token.top.emplace_back(id, logprob);
  }
  if (mutant(Mutant::record_loses_logprobs)) {
    return SampledToken(token.id, 0, {});
  }
  return token;
}

}  // namespace

Bytes encode(const Landing& landing) {
  ByteWriter writer = begin(kLandingKind);
  put(writer, landing.id);
  put(writer, landing.target);
  put(writer, landing.source);
  writer.put(landing.layout_fingerprint);
  writer.put(landing.model_hash);
  writer.put(landing.prompt_tokens);
  writer.put(landing.first_position);
  writer.put(landing.memory_key);
  writer.put(static_cast<std::uint32_t>(landing.pages.size()));
  for (const PageId page : landing.pages) {
    writer.put(page);
  }
  writer.put(static_cast<std::uint32_t>(landing.found_pages.size()));
  for (const PageId page : landing.found_pages) {
    writer.put(page);
  }
  return seal(std::move(writer));
}

Result<Landing> decode_landing(std::span<const std::byte> message) {
  auto reader = unseal(message, kLandingKind);
  if (!reader) {
    return Errc::corrupt;
  }
  Landing landing;
  landing.id = get_transfer(*reader);
  const auto target = get_peer(*reader);
  const auto source = get_peer(*reader);
  landing.layout_fingerprint = reader->get<std::uint64_t>();
  landing.model_hash = reader->get<std::uint64_t>();
  landing.prompt_tokens = reader->get<std::uint32_t>();
  landing.first_position = reader->get<std::uint32_t>();
  landing.memory_key = reader->get<std::uint64_t>();
  landing.pages.resize(reader->get_count(sizeof(PageId), kTransferPagesMax));
  for (PageId& page : landing.pages) {
    page = reader->get<PageId>();
  }
  landing.found_pages.resize(reader->get_count(sizeof(PageId), kTransferPagesMax));
  for (PageId& page : landing.found_pages) {
    page = reader->get<PageId>();
  }
  if (!reader->finished() || !target || !source) {
    return Errc::corrupt;
  }
  landing.target = *target;
  landing.source = *source;
  return landing;
}

Bytes encode(const SideRecord& record) {
  ByteWriter writer = begin(kSideRecordKind);
  put(writer, record.id);
  writer.put(record.prompt_tokens);
  writer.put(record.pages_total);
  writer.put(record.writes_total);
  writer.put(record.cached_tokens);
  writer.put_signed(record.times.waiting_ns);
  writer.put_signed(record.times.compute_ns);
  writer.put_signed(record.times.pushing_ns);
  writer.put(record.times.chunks);
  writer.put(record.times.copied_bytes);
  put(writer, record.first);
  return seal(std::move(writer));
}

Result<SideRecord> decode_side_record(std::span<const std::byte> message) {
  auto reader = unseal(message, kSideRecordKind);
  if (!reader) {
    return Errc::corrupt;
  }
  SideRecord record;
  record.id = get_transfer(*reader);
  record.prompt_tokens = reader->get<std::uint32_t>();
  record.pages_total = reader->get<std::uint32_t>();
  record.writes_total = reader->get<std::uint32_t>();
  record.cached_tokens = reader->get<std::uint32_t>();
  record.times.waiting_ns = reader->get_signed();
  record.times.compute_ns = reader->get_signed();
  record.times.pushing_ns = reader->get_signed();
  record.times.chunks = reader->get<std::uint32_t>();
  record.times.copied_bytes = reader->get<std::uint64_t>();
  record.first = get_token(*reader);
  if (!reader->finished()) {
    return Errc::corrupt;
  }
  return record;
}

}  // namespace baton
