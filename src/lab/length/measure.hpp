// A network asked at one length.
//
//   loss      the mean -log p of the last `scored` tokens of a document's first longest() + 1, given the n - scored
//             before them: the same tokens at every n
//   entropy   of the rows that predict them, by layer and head
//   copying   a passage of 32 tokens from another document is put at a random place of the window, and its first half
//             once more at the end: how much less the second half costs, in nats for a token, than where the passage
//             before was a third document's
#pragma once

#include "lab/length/documents.hpp"
#include "lab/length/laws.hpp"

namespace isentropic::lab::length {

// The network as a law asks it at n tokens; parameters are shared.
model::Transformer network_for(const model::Transformer& trained, const Study& study, const Law& law, std::int64_t n);

Point measure(const model::Transformer& trained, const Study& study, const Law& law, const Documents& documents,
              std::int64_t n);

}  // namespace isentropic::lab::length
