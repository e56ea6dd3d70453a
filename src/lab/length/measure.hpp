// Evaluates a network at one length.
//
//   loss      the mean -log p of the last `scored` tokens of a document's first longest() + 1, given the n + 1 - scored
//             before them: the same tokens at every n
//   entropy   of the rows that predict them, by layer and head
//   copying   a passage of 32 tokens from another document is put at a random position of the window, and again at its
//             end: the loss saved on the second half of the repetition, in nats per token, compared with a window whose
//             first passage is from a third document
#pragma once

#include "lab/length/documents.hpp"
#include "lab/length/laws.hpp"

namespace isentropic::lab::length {

// The network as a law evaluates it at n tokens; parameters are shared.
model::Transformer network_for(const model::Transformer& trained, const Study& study, const Law& law, std::int64_t n);

Point measure(const model::Transformer& trained, const Study& study, const Law& law, const Documents& documents,
              std::int64_t n);

}  // namespace isentropic::lab::length
