// The laws of the length study: what a network is trained with, and what changes when it is evaluated.
//
//   inverse_sqrt_d      1/sqrt d
//   log_n               log n/d
//   log_n_solved        kappa log n/d, kappa such that H of random keys has slope 0 in log n from n_train on
//   log_n_learnt        kappa log n/d, one learnt kappa per head, starting at 1
//   log_n_sqrt_d        log n/sqrt d
//   sqrt_log_n          sqrt(log n/d)
//   frozen              log n_train/d
//   ssmax               s log n, s learnt, starting at 1/(sqrt d log n_train) (Nakanishi 2025)
//   hybrid              1/(2 sqrt d) + log n/(2 sqrt d log n_train)
//   target_entropy      solved for each row so that H is the target
//   cosine              sqrt d cos(q, k), with a learnt gain per feature: CosScale (Li et al. 2025)
//   scale_invariant     a_t s + m_t for a key t back, a_t = sqrt(2 log(1 + t/10) + 1), m_t = -2 log(1 + t/10)
//                       (Anson, Wang & Aitchison 2025)
//
// and, on networks trained with 1/sqrt d (the last: with cosine),
//
//   trained_length      max(1, log n/log n_train)/sqrt d
//   info_scale          sqrt((1 - n^(-2/d))/(1 - n_train^(-2/d)))/sqrt d: InfoScale (Li et al. 2025)
//   adaptive            theta(H)/sqrt d with a polynomial theta of the row's entropy (Velickovic et al. 2024)
//   yarn                rotary frequencies and temperature for n/n_train times the context (Peng et al. 2023)
//   window              at most n_train keys: the control that a longer context must beat
//   info_cosine         info_scale on cosine
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/length/study.hpp"
#include "model/description.hpp"
#include "model/transformer.hpp"

namespace isentropic::lab::length {

enum class Attention : std::uint8_t { scaled, scale_invariant, adaptive };

struct Law {
  std::string name, formula;
  std::string networks = {};  // the law whose networks it uses; empty: it trains its own
  std::string scale = "inverse_sqrt_d";
  bool solved = false;  // kappa, in describe(): that is slow, and not needed in tables of laws
  bool learnt = false, cosine = false, window = false, yarn = false;
  Attention attention = Attention::scaled;

  const std::string& trained_as() const { return networks.empty() ? name : networks; }
  bool fits(const std::string& positions) const { return !yarn || positions == "rotary"; }
};

// The study's laws and those whose networks they use, in the order above. Throws Error for an unknown name.
std::vector<Law> laws_of(const Study& study);
const Law& law_named(const std::vector<Law>& laws, const std::string& name);

// The network that is trained under a law; laws that use its networks share it.
model::Description describe(const Study& study, const Law& law, const std::string& positions, std::int64_t vocabulary);
// A trained network's description with what a law changes for evaluation at n tokens.
model::Description for_evaluation(model::Description trained, const Study& study, const Law& law, std::int64_t n);
// The attention of laws that no kernel supports; null: the kernel's.
model::AttentionFunction attention_of(const Law& law);

}  // namespace isentropic::lab::length
