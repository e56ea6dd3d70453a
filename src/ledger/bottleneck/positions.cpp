// Position codes: def10.4.12, 10.4.17.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/position_codes.hpp"
#include "isentropic/theory/position_capacity.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

std::vector<double> zipf(std::size_t n) {
  std::vector<double> out(n);
  double sum = 0;
  for (std::size_t x = 0; x < n; ++x) sum += out[x] = 1 / static_cast<double>(x + 1);
  for (double& p : out) p /= sum;
  return out;
}

void information_of_a_code(Check& check) {
  const std::vector<double> positions = check.choose(std::vector<double>(128, 1. / 128), zipf(128));
  check.near("128 positions: bits about the position",
             to_bits(position_information(sinusoidal_codes(128, 8), positions)), 7, 1e-9);
  for (std::size_t n : {16U, 1024U})
    check.near("distinct codes of " + std::to_string(n) + " equal positions",
               to_bits(position_information(sinusoidal_codes(n, 8))), std::log2(static_cast<double>(n)), 1e-9);
  check.near("positions after Zipf's law: the entropy of the position",
             to_bits(position_information(sinusoidal_codes(128, 8), zipf(128))), 5.553, 5e-4);
  check.near("two coordinates on a grid of 1/4: codes coincide",
             to_bits(position_information(sinusoidal_codes(128, 2), {}, .25)), 4.934, 5e-4);
}

void information_about_offsets(Check& check) {
  const double one[] = {.716, .721}, both[] = {4.716, 7.721};
  const std::size_t lengths[] = {16, 128};
  for (std::size_t x = 0; x < 2; ++x) {
    const OffsetInformation found = offset_information(sinusoidal_codes(lengths[x], 8));
    const std::string at = " at n = " + std::to_string(lengths[x]);
    check.near("bits about the offset" + at, to_bits(check.choose(found.both_codes, found.one_code)),
               to_bits(found.entropy), 1e-6);
    check.near("from one code" + at, to_bits(found.one_code), one[x], 6e-4);
    check.near("from both codes" + at, to_bits(found.both_codes), both[x], 6e-4);
  }
  // Inner products of sinusoidal codes depend only on the offset.
  const Table codes = sinusoidal_codes(200, 16);
  std::vector<double> first(200);
  double spread = 0;
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t j = i; j < 200; ++j) {
      double dot = 0;
      for (std::size_t c = 0; c < 16; ++c) dot += codes(i, c) * codes(j, c);
      if (i == 0) first[j] = dot;
      spread = std::max(spread, std::abs(dot - first[j - i]));
    }
  check.near("inner products: spread along a diagonal", spread, 0, 1e-12);
}

// ---- 10.4.17 ----

// The smallest number of coordinates with which the base-2^bits digits distinguish all positions.
std::int64_t fewest_coordinates(std::int64_t positions, std::int64_t bits) {
  for (std::int64_t d = 1;; ++d) {
    std::set<std::vector<std::int64_t>> codes;
    for (std::int64_t x = 0; x < positions; ++x) {
      std::vector<std::int64_t> code;
      for (std::int64_t c = 0, rest = x; c < d; ++c, rest >>= bits)
        code.push_back(rest & ((std::int64_t{1} << bits) - 1));
      codes.insert(code);
    }
    if (static_cast<std::int64_t>(codes.size()) == positions) return d;
  }
}

// Reads positions and offsets back from a single number, pos / n in float32; returns the number of errors.
std::int64_t errors_of_one_number(std::int64_t n, Random& random) {
  const auto code = [n](std::int64_t x) { return static_cast<float>(x) / static_cast<float>(n); };
  std::int64_t wrong = 0;
  for (int t = 0; t < 5000; ++t) {
    const std::int64_t i = random.integer(0, n - 1), j = random.integer(0, n - 1);
    wrong += std::llround(code(i) * static_cast<float>(n)) != i;
    wrong += std::llround((code(i) - code(j)) * static_cast<float>(n)) != i - j;
  }
  return wrong;
}

// Two coordinates on a half circle, shifted a few steps beyond the position.
Table circle_codes(std::size_t n, double further = 0) {
  const double step = std::numbers::pi / static_cast<double>(n);
  Table out(n, 2);
  for (std::size_t x = 0; x < n; ++x) {
    const double angle = step * (static_cast<double>(x) + further);
    out(x, 0) = std::cos(angle), out(x, 1) = std::sin(angle);
  }
  return out;
}

// The minimum distance between codes.
double spacing_of(const Table& codes) {
  double out = 1e9;
  for (std::size_t x = 0; x + 1 < codes.rows; ++x)
    for (std::size_t y = x + 1; y < std::min(codes.rows, x + 8); ++y)
      out = std::min(out, std::hypot(codes(x, 0) - codes(y, 0), codes(x, 1) - codes(y, 1)));
  return out;
}

// Reads offsets from the angle between two codes; returns how many of 5000 are wrong.
std::int64_t offsets_misread(std::size_t n, Random& random) {
  const Table codes = circle_codes(n);
  const auto last = static_cast<std::int64_t>(n) - 1;
  std::int64_t wrong = 0;
  for (int t = 0; t < 5000; ++t) {
    const std::int64_t i = random.integer(0, last), j = random.integer(0, last);
    const auto a = codes.row(static_cast<std::size_t>(i)), b = codes.row(static_cast<std::size_t>(j));
    const double angle = std::atan2(a[1] * b[0] - a[0] * b[1], a[0] * b[0] + a[1] * b[1]);
    wrong += std::llround(angle * static_cast<double>(n) / std::numbers::pi) != i - j;
  }
  return wrong;
}

// Queries rotated by three steps: counts the rows whose largest weight is not three positions further.
std::int64_t errors_of_the_circle(std::size_t n) {
  const Table query = circle_codes(n, 3), key = circle_codes(n);
  const AttentionResult result = attend(query, key, key);
  std::int64_t wrong = 0;
  for (std::size_t x = 0; x + 3 < n; ++x) wrong += result.rows.record(x).a != static_cast<std::int64_t>(x) + 3;
  return wrong;
}

void coordinates_of_a_position_code(Check& check) {
  const std::int64_t n = 1024;
  const auto as_printed = [](double positions) { return std::log2(positions) + std::log2(positions - 1); };
  const double printed = std::ceil(as_printed(1024));
  std::vector<double> widths = {1, 2, 4, 8, 16}, fewest, formula;
  for (double bits : widths) {
    const auto b = static_cast<std::int64_t>(bits);
    fewest.push_back(static_cast<double>(fewest_coordinates(n, b)));
    formula.push_back(static_cast<double>(least_position_coordinates(n, b)));
    check.near("1024 positions, " + std::to_string(b) + " bits a coordinate: fewest coordinates", fewest.back(),
               check.choose(formula.back(), printed), 0);
  }
  const std::int64_t lengths[] = {16, 256, 4096};
  const double spacing[] = {.196, .0123, .00077}, rounding[] = {5e-4, 5e-5, 5e-6};
  for (std::size_t x = 0; x < 3; ++x) {
    const std::string at = ", n = " + std::to_string(lengths[x]);
    const auto length = static_cast<std::size_t>(lengths[x]);
    check.never("one float32 number misreads position or offset" + at,
                errors_of_one_number(lengths[x], check.random()));
    check.never("two coordinates misread the offset" + at, offsets_misread(length, check.random()));
    check.near("the price is precision: spacing on the circle" + at, spacing_of(circle_codes(length)), spacing[x],
               rounding[x]);
  }
  check.near("coordinates asked for at n = 4096, as printed", as_printed(4096), 23.9996, 1e-4);
  for (std::int64_t length : {std::int64_t{16}, std::int64_t{256}, check.effort(1024, 4096)})
    check.never("two coordinates miss the key three further, n = " + std::to_string(length),
                errors_of_the_circle(static_cast<std::size_t>(length)));
  check.plot({.title = "Coordinates that 1024 positions need",
              .x_label = "bits a coordinate",
              .y_label = "coordinates",
              .x_scale = report::PlotScale::log,
              .curves = {{"fewest that work", widths, fewest},
                         {"log2(n) / b, rounded up", widths, formula, report::CurveStyle::formula},
                         {"printed", {1, 16}, {printed, printed}, report::CurveStyle::bound}}});
}

}  // namespace

std::vector<Claim> position_claims() {
  return {
      computed("000-def10.4.12a", Verdict::holds_if, "A position code carries log2 n bits about the position",
               "for equally likely positions and distinct codes; in general H(position), or less where codes coincide",
               information_of_a_code),
      computed("000-def10.4.12b", Verdict::holds_if, "I(PE; pos1 - pos2) is the information about relative position",
               "of both codes together: I((PE1,PE2); offset) = H(offset); one code alone says little",
               information_about_offsets),
      computed("000-10.4.17", Verdict::corrected, "A position code needs log2 n + log2(largest distance) dimensions",
               "d b >= log2 n for b bits a coordinate; offsets need no more; one real coordinate is enough",
               coordinates_of_a_position_code),
  };
}

}  // namespace isentropic::ledger::bottleneck
