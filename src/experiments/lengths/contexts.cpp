// Draws queries, keys and needles of every family, with their position bias.
#include "experiments/lengths/contexts.hpp"

#include <cmath>
#include <iterator>
#include <span>

#include "base/mix.hpp"
#include "experiments/lengths/directions.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {
namespace {

// Every family is a mixture: the number of centres, and the cosine between two keys that share one.
struct Family {
  std::int64_t centres;
  double cosine;
};
constexpr Family kFamilies[] = {{0, 0.0}, {16, 0.8}, {1, 0.3}};
constexpr const char* kKeysNames[] = {"random", "clustered", "correlated"};
constexpr const char* kPositionsNames[] = {"none", "random", "sinusoidal", "rotary", "alibi", "relative"};

// The purpose of each stream of random directions; no two purposes share numbers.
enum Use : std::uint64_t { kOwnPart, kCentre, kQuery, kKeyCode, kQueryCode, kNeedleCode };

class Streams {
 public:
  Streams(const ContextShape& shape, std::uint64_t seed, std::int64_t set)
      : root_(mix({seed, static_cast<std::uint64_t>(shape.n), static_cast<std::uint64_t>(shape.d),
                   static_cast<std::uint64_t>(set)})) {}
  Directions operator[](Use use) const { return Directions(mix({root_, use})); }

 private:
  std::uint64_t root_;
};

void normalise(std::span<float> x, double norm) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * v;
  const float scale = squares > 0 ? static_cast<float>(norm / std::sqrt(squares)) : 0.0f;
  for (float& v : x) v *= scale;
}

void add_scaled(std::span<float> x, double a, std::span<const float> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<float>(a) * y[i];
}

// Applies position codes to vectors.
class Coder {
 public:
  Coder(const PositionCode& code, std::int64_t d) : code_(code) {
    if (code.kind != Positions::sinusoidal && code.kind != Positions::rotary) return;
    for (std::int64_t i = 0; i < d; ++i)
      waves_.push_back(std::pow(10000.0, -static_cast<double>(i - i % 2) / static_cast<double>(d)));
  }

  // `stream` and `row` select a random code; the other codes depend only on the position.
  void put(std::int64_t position, const Directions& stream, std::int64_t row, std::span<float> x) const {
    if (code_.kind == Positions::random) {
      std::vector<float> p(x.size());
      stream.fill(row, std::sqrt(static_cast<double>(x.size())), p);
      add_scaled(x, code_.strength, p);
    } else if (code_.kind == Positions::sinusoidal) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double angle = static_cast<double>(position) * waves_[i];
        x[i] += static_cast<float>(code_.strength * (i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
      }
    } else if (code_.kind == Positions::rotary) {
      for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
        const double angle = code_.strength * static_cast<double>(position) * waves_[i];
        const double cosine = std::cos(angle), sine = std::sin(angle), a = x[i], b = x[i + 1];
        x[i] = static_cast<float>(a * cosine - b * sine);
        x[i + 1] = static_cast<float>(a * sine + b * cosine);
      }
    }
  }

 private:
  PositionCode code_;
  std::vector<double> waves_;
};

}  // namespace

const char* name(Keys keys) { return kKeysNames[static_cast<int>(keys)]; }
const char* name(Positions positions) { return kPositionsNames[static_cast<int>(positions)]; }

Positions positions_named(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kPositionsNames); ++i)
    if (name == kPositionsNames[i]) return static_cast<Positions>(i);
  throw Error("positions", name, "none, random, sinusoidal, rotary, alibi or relative");
}

double usual_strength(Positions kind) {
  if (kind == Positions::none) return 0.0;
  return kind == Positions::alibi ? 0.1 : 1.0;
}

double PositionCode::bias(std::int64_t distance) const {
  if (kind == Positions::alibi) return -strength * static_cast<double>(distance);
  if (kind == Positions::relative) return -strength * std::log1p(static_cast<double>(distance));
  return 0.0;
}

Contexts draw_contexts(const ContextShape& shape, std::uint64_t seed, std::int64_t first_set, Executor& executor) {
  const std::int64_t n = shape.n, d = shape.d, sets = shape.sets, queries = shape.queries;
  const double norm = std::sqrt(static_cast<double>(d));
  const Family family = kFamilies[static_cast<int>(shape.keys)];
  const Coder coder(shape.positions, d);
  Contexts out{shape, std::vector<float>(sets * queries * d), std::vector<float>(sets * n * d),
               std::vector<float>(sets * queries * d)};
  const auto vector_at = [&](std::vector<float>& all, std::int64_t row) { return std::span(all).subspan(row * d, d); };

  for (std::int64_t set = 0; set < sets; ++set) {
    const Streams streams(shape, seed, first_set + set);
    std::vector<float> centres(family.centres * d);
    for (std::int64_t c = 0; c < family.centres; ++c) streams[kCentre].fill(c, norm, vector_at(centres, c));

    executor.parallel_for(n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        const std::span<float> key = vector_at(out.keys, set * n + j);
        streams[kOwnPart].fill(j, norm, key);
        if (family.centres > 0) {
          for (float& x : key) x *= static_cast<float>(std::sqrt(1 - family.cosine));
          add_scaled(key, std::sqrt(family.cosine), vector_at(centres, j % family.centres));
          normalise(key, norm);
        }
        coder.put(j, streams[kKeyCode], j, key);
      }
    });
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::span<float> query = vector_at(out.queries, set * queries + i);
      const std::span<float> needle = vector_at(out.needles, set * queries + i);
      streams[kQuery].fill(i, norm, query);
      streams[kQuery].fill(i, norm, needle);
      coder.put(n - 1, streams[kQueryCode], i, query);
      coder.put(0, streams[kNeedleCode], i, needle);
    }
  }
  return out;
}

}  // namespace isentropic::experiments::lengths
