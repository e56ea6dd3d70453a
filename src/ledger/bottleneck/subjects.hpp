// The claims of source 000, by subject.
#pragma once

#include "ledger/claim.hpp"

namespace isentropic::ledger::bottleneck {

std::vector<Claim> basic_quantity_claims();     // 10.4.1 ... 10.4.5: entropy, divergence, mutual information
std::vector<Claim> tradeoff_claims();           // 10.4.6, 10.4.7a: the information bottleneck
std::vector<Claim> variational_claims();        // 10.4.7b, 10.4.8: as a loss, by gradient descent
std::vector<Claim> information_plane_claims();  // def10.4.5, thm10.4.3
std::vector<Claim> weighted_average_claims();   // 10.4.9, 10.4.10: attention as selection
std::vector<Claim> reach_claims();              // 10.4.11 and the text before it: how far a layer sees
std::vector<Claim> head_claims();               // 10.4.12, 10.4.13
std::vector<Claim> transfer_claims();           // 10.4.14, 10.4.15: temperature, cross-attention
std::vector<Claim> residual_claims();           // 10.4.16
std::vector<Claim> position_claims();           // def10.4.12, 10.4.17
std::vector<Claim> regulariser_claims();        // 10.4.18
std::vector<Claim> generalisation_claims();     // 10.4.19 and the closing text

void deep_residuals_need_a_scale(Check& check);  // 10.4.16d
// Claims on trained networks: 10.4.6-txt1, 10.4.7-txt2.
void kept_information_and_fit(Check& check);
void compression_and_accuracy(Check& check);

}  // namespace isentropic::ledger::bottleneck
