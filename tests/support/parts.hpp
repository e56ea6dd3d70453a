// The parts of a case. Each applies one feature of the public interface to both the library's problem and the oracle's.
#pragma once

#include <cstdint>
#include <vector>

#include "support/case.hpp"

namespace support {

// Which axis of a dense tensor has length 1 and is repeated.
enum class Repeat { none, batch, heads, rows };
Shape repeated(Shape shape, Repeat repeat);

// ---- Masks ----

Part unmasked();
Part causal(isentropic::Align align = isentropic::Align::start);
Part aligned_to_the_end();
Part window(std::int64_t left, std::int64_t right = 0);
Part prefix(std::int64_t keys);
Part exclude_self();
Part exclude_keys();  // random keys
Part strided(std::int64_t stride, std::int64_t local);
Part block_sparse(std::int64_t block_q, std::int64_t block_k, Repeat repeat = Repeat::none);
Part key_lengths();  // random lengths
Part key_lengths(std::vector<std::int64_t> lengths);
Part documents();  // random, with separate query and key offsets, some of them empty
Part documents(std::vector<std::int64_t> query, std::vector<std::int64_t> key);
Part segments(std::int64_t length);
Part dense_boolean(Repeat repeat = Repeat::none);
Part dense_additive(Repeat repeat = Repeat::none);  // includes -inf and the type's lowest value
std::vector<std::vector<Part>> mask_combinations();
// Masks compatible with a decay gamma^{p_i - j}.
std::vector<std::vector<Part>> causal_combinations();

// ---- Scales; parameters differ between heads ----

Part log_n();
Part log_n_sqrt_d();
Part sqrt_log_n();
Part frozen();
Part hybrid();
Part trained_length(std::int64_t n_train);
Part info_scale();
Part ssmax();
Part yarn();
Part llama4(std::int64_t step);
Part constant_scale(double lambda);
Part constant_scale_per_head();
Part per_row_scale(Repeat repeat = Repeat::none);
// The target in nats, which not every row may reach, unlike a fraction of log(smallest visible count).
Part target_entropy(double target,
                    isentropic::TargetEntropyGradient gradient = isentropic::TargetEntropyGradient::detached);
std::vector<Part> formula_scales();  // every law that is a formula, plus per_row

// ---- Score terms ----

Part soft_cap(double cap);
Part dense_bias(Repeat repeat = Repeat::none);
Part dense_bias_with_masked_keys();
Part alibi();
Part relative(std::int64_t reach, Repeat repeat = Repeat::none);
Part sink();

// ---- Score maps ----

Part softmax();
Part top_k(std::int64_t keys);
Part hard();
Part gumbel(double tau, isentropic::GumbelSample sample = isentropic::GumbelSample::relaxed);
Part sparsemax();
Part entmax(double alpha);  // alpha of the first head; the others have more
Part sigmoid(double offset, isentropic::Normaliser normaliser);
Part relu_squared(isentropic::Normaliser normaliser);
Part identity(isentropic::Normaliser normaliser);
Part linear(isentropic::Feature feature, isentropic::Normaliser normaliser, double gamma = 1,
            isentropic::LinearForm form = isentropic::LinearForm::quadratic);
Part decay(double gamma, isentropic::Normaliser normaliser,
           isentropic::LinearForm form = isentropic::LinearForm::quadratic);
Part sharpened(double sharpen, isentropic::Normaliser normaliser, double gamma = 1,
               isentropic::LinearForm form = isentropic::LinearForm::quadratic);  // linear, with exp features
std::vector<Part> score_maps();      // for any mask and score term except sinks
std::vector<Part> linear_maps();     // quadratic linear and decay with gamma = 1: any mask, no score terms
std::vector<Part> decaying_maps();   // gamma < 1: causal masks only
std::vector<Part> recurrent_maps();  // gamma 1, for which masks may be none or causal
std::vector<Part> recurrent_decaying_maps();

// ---- Others ----

Part groups(std::int64_t first, std::int64_t recent);
Part dropout(double probability, std::uint64_t seed);

// The output of the library's generator, observed from outside: Gumbel noise through the weights of zero scores,
// dropout choices through values that are the identity matrix.
Numbers observed_gumbel_noise(const Sizes& sizes, std::uint64_t seed);
std::vector<char> observed_dropout_choices(const Sizes& sizes, const isentropic::Dropout& dropout);

}  // namespace support
