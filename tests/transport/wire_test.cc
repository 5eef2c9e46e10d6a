#include "transport/wire.h"

#include <cstring>
#include <limits>
#include <utility>

#include <doctest/doctest.h>
#include <xxhash.h>

#include "tests/support/pick.h"

namespace baton {
namespace {

Landing sample_landing() {
  Landing landing{TransferId{{0x1122334455667788U, 2}, {0xfedcba9876543210U}},
                  PeerId{{Role::decode, 3}, {5, 6}},
                  PeerId{{Role::prefill, 1}, {7, 8}},
                  0xaaaaaaaaaaaaaaaaU,
                  0xbbbbbbbbbbbbbbbbU,
                  1000,
                  16,
                  {4, 5, 6, 0xffffffffU},
                  42};
  landing.found_pages = {8, 7};
  return landing;
}

SideRecord sample_record() {
  SideRecord record(1000, SampledToken(17, -1.25F, {{17, -1.25F}, {3, -std::numeric_limits<float>::infinity()}}), 64,
                    PrefillTimes{1, -2, std::numeric_limits<std::int64_t>::max(), 7, std::uint64_t{1} << 40});
  record.id = sample_landing().id;
  record.pages_total = 62;
  record.writes_total = 9;
  return record;
}

// The checksum made right again, so that the fields behind it are what the decoder looks at.
void reseal(Bytes& message) {
  const std::uint64_t checksum = XXH64(message.data(), message.size() - 8, 0);
  std::memcpy(message.data() + message.size() - 8, &checksum, 8);
}

TEST_CASE("wire: a landing and a record come back as they went") {
  const auto landing = decode_landing(encode(sample_landing()));
  REQUIRE(landing.has_value());
  CHECK(*landing == sample_landing());
  const auto record = decode_side_record(encode(sample_record()));
  REQUIRE(record.has_value());
  CHECK(*record == sample_record());
  CHECK(*decode_landing(encode(Landing())) == Landing());
  CHECK(*decode_side_record(encode(SideRecord())) == SideRecord());
}

TEST_CASE("wire: the bytes are the same on every machine") {
  const Bytes message = encode(SideRecord());
  const std::array<unsigned char, 6> head{'B', 'T', 'N', 'R', 1, 0};
  CHECK(std::memcmp(message.data(), head.data(), head.size()) == 0);
  CHECK(message.size() == 6 + 24 + 4 * 4 + 3 * 8 + 4 + 8 + 12 + 8);
}

TEST_CASE("wire: every truncation, extension and single wrong byte is refused") {
  for (const Bytes& message : {encode(sample_landing()), encode(sample_record())}) {
    const auto refused = [](std::span<const std::byte> bytes) {
      return decode_landing(bytes).error() == Errc::corrupt && decode_side_record(bytes).error() == Errc::corrupt;
    };
    for (std::size_t size = 0; size < message.size(); ++size) {
      REQUIRE(refused(std::span(message).first(size)));
    }
    Bytes longer = message;
    longer.push_back(std::byte{0});
    REQUIRE(refused(longer));
    reseal(longer);
    REQUIRE(refused(longer));
    for (std::size_t at = 0; at < message.size(); ++at) {
      Bytes wrong = message;
      wrong[at] ^= std::byte{1};
      REQUIRE(refused(wrong));
    }
  }
}

TEST_CASE("wire: one kind never passes for the other, nor a later version for this one") {
  CHECK(decode_landing(encode(sample_record())).error() == Errc::corrupt);
  CHECK(decode_side_record(encode(sample_landing())).error() == Errc::corrupt);
  Bytes later = encode(sample_landing());
  later[4] = std::byte{2};
  reseal(later);
  CHECK(decode_landing(later).error() == Errc::corrupt);
}

TEST_CASE("wire: counts are checked against what is there before memory is taken for them") {
  const Bytes message = encode(sample_landing());
  const Landing landing = sample_landing();
  const std::size_t found_at = message.size() - 8 - 4 * landing.found_pages.size() - 4;
  const std::size_t pages_at = found_at - 4 * landing.pages.size() - 4;
  for (const auto& [at, right] : {std::pair(pages_at, landing.pages.size()), {found_at, landing.found_pages.size()}}) {
    const auto count = static_cast<std::uint32_t>(right);
    for (const std::uint32_t wrong : {0xffffffffU, count + 1, count - 1, kTransferPagesMax + 1}) {
      Bytes changed = message;
      std::memcpy(changed.data() + at, &wrong, 4);
      reseal(changed);
      CHECK(decode_landing(changed).error() == Errc::corrupt);
    }
  }
}

TEST_CASE("wire: a role that does not exist is refused") {
  Bytes message = encode(sample_landing());
  message[6 + 24] = std::byte{4};
  reseal(message);
  CHECK(decode_landing(message).error() == Errc::corrupt);
}

TEST_CASE("wire: sealed random changes decode or fail, and what decodes encodes to the same bytes") {
  test::Pick pick(1);
  std::size_t decoded = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes message = round % 2 == 0 ? encode(sample_landing()) : encode(sample_record());
    for (std::uint32_t change = 0; change < 1 + pick(3); ++change) {
      message[pick(message.size())] = std::byte(pick(256));
    }
    if (pick(4) == 0) {
      message.resize(8 + pick(message.size()));
    }
    reseal(message);
    if (const auto landing = decode_landing(message)) {
      REQUIRE(encode(*landing) == message);
      ++decoded;
    }
    if (const auto record = decode_side_record(message)) {
      REQUIRE(encode(*record) == message);
      ++decoded;
    }
  }
  CHECK(decoded > 1000);
}

}  // namespace
}  // namespace baton
