// From scores to weights. s is the finished score of a visible key; a masked key has weight 0.
//
//   softmax                 a = e^{s - L}
//   top_k(k)                softmax over the k largest scores (ties: the lowest index)
//   hard                    1 at the largest score: top_k(1)
//   gumbel(tau, seed)       softmax((s + g) / tau), g standard Gumbel noise keyed by (seed, batch, head, i, j);
//                           straight_through: the output takes the argmax, gradients the relaxed weights (no sink,
//                           no dropout, no split keys: it chooses one key)
//   sparsemax               a = max(s - t, 0) with t such that the weights sum to one
//   entmax(alpha)           a = max((alpha - 1) s - t, 0)^{1 / (alpha - 1)}, summing to one, alpha > 1: softmax in the
//                           limit 1, sparsemax at 2; three keys with scores 0, 0, -2 and alpha = 1.5 have the weights
//                           1/2, 1/2, 0. alpha may be learnt (attention.hpp, AttentionGradients)
//
// and f(s) divided by a normaliser N, with b = f(s):
//
//   sigmoid(offset)         b = 1 / (1 + e^{-(s + offset)})
//   relu_squared            b = max(s, 0)^2                      (GAU)
//   identity                b = s;  l1(): N = sum |b|;  l2(): N = sqrt(sum b^2)
//   linear(phi, gamma)      b = gamma^{p_i - j} lambda phi(q).phi(k); sharpened by c, phi = exp:
//                           b = gamma^{p_i - j} lambda sum_t e^{q_t + tau k_t}, tau = c sqrt(2 log n)
//   decay(gamma)            b = gamma^{p_i - j}, whatever the content
//
// With fixed features the weights spread out as n grows whatever the scale, a factor that normalisers cancel; with keys
// multiplied by sqrt(2 log n), the growth of the largest of n normal numbers, they do not (003-s30-Q3 of the ledger).
// All rows of a batch entry share n, its number of keys (n_k, or its key length), so that a key's features are the same
// for every row and the recurrent form stays O(n): causal rows are sharpened by keys they do not see (through their
// number alone), and in a growing cache all features change with each new key. n = 4, c = 1 and one key of 1 beside
// three of 0, d = 1: tau = 1.665, and the weights are 5.286 : 1 : 1 : 1. exp overflows where q_t + tau k_t exceeds 88
// in float32, 709 in float64.
//
// N is 1 (none), the number of visible keys (visible), sum |b| (l1) or sqrt(sum b^2) (l2); a row whose N is 0 has
// weight 0 everywhere. Only weights that are non-negative and sum to one have an entropy. gamma is not learnt.
#pragma once

#include <cstdint>
#include <string>

#include "isentropic/export.hpp"
#include "isentropic/scale.hpp"

namespace isentropic {

enum class Normaliser : std::uint8_t { none, visible, l1, l2 };
enum class GumbelSample : std::uint8_t { relaxed, straight_through };
enum class Feature : std::uint8_t { elu_plus_one, relu, exp, identity };

// The quadratic form visits every pair; the recurrent one carries a d x d_v state, in O(n), and gives the same
// output. It exists for linear and decay with masks none, causal and key lengths. Its backward pass is the quadratic
// one.
enum class LinearForm : std::uint8_t { quadratic, recurrent };

// A map in words: its name, the formula of b or of the weight, and its options.
struct ScoreMapWords {
  std::string name;
  std::string formula;
  std::vector<Parameter> parameters;
};

class ISENTROPIC_API ScoreMap {
 public:
  enum class Kind : std::uint8_t {
    softmax,
    top_k,
    gumbel,
    sparsemax,
    entmax,
    sigmoid,
    relu_squared,
    identity,
    linear,
    decay
  };

  static ScoreMap softmax() { return ScoreMap(Kind::softmax); }
  static ScoreMap top_k(std::int64_t keys);
  static ScoreMap hard() { return top_k(1); }
  static ScoreMap gumbel(double tau, std::uint64_t seed, GumbelSample sample = GumbelSample::relaxed);
  static ScoreMap sparsemax() { return ScoreMap(Kind::sparsemax); }
  static ScoreMap entmax(PerHead alpha = 1.5);
  static ScoreMap sigmoid(double offset = 0.0, Normaliser normaliser = Normaliser::none);
  static ScoreMap relu_squared(Normaliser normaliser = Normaliser::visible);
  static ScoreMap identity(Normaliser normaliser = Normaliser::visible);
  static ScoreMap l1() { return identity(Normaliser::l1); }
  static ScoreMap l2() { return identity(Normaliser::l2); }
  // sharpen: c, for exp features only; 0 leaves keys unchanged.
  static ScoreMap linear(Feature feature, Normaliser normaliser = Normaliser::l1, PerHead gamma = 1.0,
                         LinearForm form = LinearForm::quadratic, double sharpen = 0.0);
  static ScoreMap decay(PerHead gamma, Normaliser normaliser = Normaliser::l1, LinearForm form = LinearForm::quadratic);

  // Any map by its name: named("top_k", {{"keys", std::int64_t{8}}}). Omitted options take their defaults; the seed of
  // a gumbel map is set by with_seed(). An Error lists the known names.
  static ScoreMap named(const std::string& name, const Options& options = {});
  // Every map, in the order above; "hard" is an alias for top_k(1).
  static const std::vector<ScoreMapWords>& maps();

  ScoreMap with_seed(std::uint64_t seed) const;
  // This entmax map with another alpha.
  ScoreMap with_alpha(PerHead alpha) const;

  Kind kind() const { return kind_; }
  const std::string& name() const;
  // The options to pass to named() to recreate this map.
  Options options() const;
  std::int64_t keys() const { return keys_; }
  double tau() const { return number_; }
  double offset() const { return number_; }
  std::uint64_t seed() const { return seed_; }
  GumbelSample sample() const { return sample_; }
  Normaliser normaliser() const { return normaliser_; }
  Feature feature() const { return feature_; }
  const PerHead& gamma() const { return gamma_; }
  const PerHead& alpha() const { return alpha_; }
  LinearForm form() const { return form_; }
  double sharpen() const { return sharpen_; }
  // The factor that linear(...) applies to n keys before phi: c sqrt(2 log n), or 1 if c is 0.
  double key_factor(std::int64_t n) const;
  // The per-head parameter that has a gradient: alpha of entmax; null for other maps.
  const Parameter* learnable() const;

  // softmax and gumbel: computed block by block, with only the record of softmax_record.hpp.
  bool streams() const { return kind_ == Kind::softmax || kind_ == Kind::gumbel; }
  // softmax, gumbel, top_k: the weights are a softmax, so its statistics exist (those over key groups only if it
  // streams).
  bool is_softmax() const { return streams() || kind_ == Kind::top_k; }
  // The weights are non-negative and sum to one.
  bool is_distribution() const;

 private:
  explicit ScoreMap(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::int64_t keys_ = 0;
  double number_ = 1.0;
  std::uint64_t seed_ = 0;
  GumbelSample sample_ = GumbelSample::relaxed;
  Normaliser normaliser_ = Normaliser::none;
  Feature feature_ = Feature::identity;
  PerHead gamma_ = 1.0, alpha_ = 1.5;
  LinearForm form_ = LinearForm::quadratic;
  double sharpen_ = 0;
};

}  // namespace isentropic
