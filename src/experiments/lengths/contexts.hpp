// The contexts of the experiment: queries, the keys they attend to, and the needle each of them might find.
//
// Queries and keys have norm sqrt d, as after RMSNorm, so the raw score is q.k = d cos(theta).
//
//   random        k = sqrt d e_j                                             e_j independent random directions
//   clustered     k ~ sqrt(r) c_{j mod 16} + sqrt(1 - r) e_j,   r = 0.8      keys of a cluster have cosine about r
//   correlated    k ~ sqrt(r) c + sqrt(1 - r) e_j,              r = 0.3      any two keys have cosine about r
//
// (~: scaled to norm sqrt d; c random directions, fixed for a key set.) The part shared by all keys adds the same
// number to every score and cancels in the softmax, so correlated keys at lambda behave much like random keys
// at lambda sqrt(1 - r).
//
// Positions. The query sits at the last position, n - 1, and sees all n keys. With strength a:
//
//   random        a p_j added to keys, a p to queries: independent random directions of norm sqrt d
//   sinusoidal    a c(j) added to keys, a c(n - 1) to queries: c(p)_{2i}, c(p)_{2i+1} = sin, cos(p / 10000^{2i/d})
//   rotary        coordinates 2i, 2i+1 of key j rotated by the angle a j t_i, those of queries by a (n - 1) t_i, with
//                 t_i = 10000^{-2i/d}: the score depends on the distance n - 1 - j. a < 1 stretches the positions. An
//                 odd last coordinate is not rotated.
//   alibi         score - a (n - 1 - j)
//   relative      score - a log(1 + n - 1 - j)
//
// The needle is the key that repeats the query's content, k = q, at position 0: as far away as the context reaches. It
// replaces key 0, so that the context has n keys either way.
//
// Rotation leaves random keys random, so their entropy does not change; the needle's score falls from d to sum_i
// |q_i|^2 cos(a (n - 1) t_i), q_i the pairs of coordinates. By hand: d = 2, a = 1, n = 2: 2 cos 1 = 1.0806. What
// clustered and correlated keys share no longer adds the same number to every score: it depends on the distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"

namespace isentropic::experiments::lengths {

enum class Keys : std::uint8_t { random, clustered, correlated };
enum class Positions : std::uint8_t { none, random, sinusoidal, rotary, alibi, relative };

const char* name(Keys keys);
const char* name(Positions positions);
Positions positions_named(const std::string& name);  // Error lists the names

struct PositionCode {
  Positions kind = Positions::none;
  double strength = 0;

  bool is_bias() const { return kind == Positions::alibi || kind == Positions::relative; }
  // The term added to the score of a key `distance` before the query; 0 for codes that change the vectors.
  double bias(std::int64_t distance) const;
};

// 0.1 for alibi, 1 for the others.
double usual_strength(Positions kind);

struct ContextShape {
  Keys keys = Keys::random;
  PositionCode positions;
  std::int64_t n = 0, d = 0;
  std::int64_t sets = 1;     // independent key sets
  std::int64_t queries = 1;  // independent queries per set
};

struct Contexts {
  ContextShape shape;
  std::vector<float> queries;  // [sets, queries, d]
  std::vector<float> keys;     // [sets, n, d]
  std::vector<float> needles;  // [sets, queries, d], the needle of each query

  const float* query(std::int64_t set, std::int64_t i) const { return &queries[(set * shape.queries + i) * shape.d]; }
  const float* needle(std::int64_t set, std::int64_t i) const { return &needles[(set * shape.queries + i) * shape.d]; }
  const float* key(std::int64_t set, std::int64_t j) const { return &keys[(set * shape.n + j) * shape.d]; }
};

// Sets [first_set, first_set + shape.sets) of the infinite sequence that the seed defines for this n and d.
Contexts draw_contexts(const ContextShape& shape, std::uint64_t seed, std::int64_t first_set = 0,
                       Executor& executor = default_executor());

}  // namespace isentropic::experiments::lengths
