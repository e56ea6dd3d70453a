// NCE's loss as the library computes it: for each symbol, a softmax over two candidates, "datum" and "noise".
#pragma once

#include "ledger/contrast/losses.hpp"

namespace isentropic::ledger::contrast {

// Distributions over six symbols, drawn once: those behind the quoted numbers.
extern const std::vector<double> kNceData, kNceNoise, kNceModelScores;

// Symbol x has the candidates "datum" with score log p_x - log(k n_x) and "noise" with score 0. A row's target is the
// first or the second, with weight d_x or k n_x: the weighted sum of the softmax losses is NCE's loss.
struct NceKernel {
  Contrast contrast;
  std::vector<double> weights;  // the symbols as data, then as noise
};

NceKernel nce_kernel(const std::vector<double>& data, const std::vector<double>& model,
                     const std::vector<double>& noise, double noise_per_datum);
double measured_loss(const NceKernel& kernel);
// dL / dlog p_x
std::vector<double> measured_gradient(const NceKernel& kernel);

}  // namespace isentropic::ledger::contrast
