// The table.
#include "scan/terms.hpp"

#include <algorithm>

namespace isentropic::scan {

const std::vector<Term>& terms() {
  static const std::vector<Term> table = {
      {"normalised_entropy", "normalised entropy", "",
       "H / log k: 0 when one key has all the weight, 1 when all k visible keys have the same.", true, false},
      {"least_normalised_entropy", "least normalised entropy", "",
       "The least H / log k of any row: 0 as soon as one row looks at a single key.", true, false},
      {"entropy", "entropy", "nats",
       "H = -sum p log p of a row's weights: the uncertainty about which key it looks at; e^H is a number of keys.",
       false, false},
      {"effective_keys", "effective keys", "keys", "e^H: as many keys with equal weights would have this entropy.",
       false, true},
      {"entropy_without_first", "entropy without the first key", "nats",
       "H of the weights of all keys but the first, scaled to sum to 1: what is left when a sink there is taken away.",
       false, false},
      {"peak", "peak", "", "The largest weight of a row: 1 when it looks at one key alone.", true, false},
      {"collision", "collision", "",
       "sum p^2: the probability that two keys drawn from a row's weights are the same one.", true, true},
      {"participation", "participation", "keys",
       "1 / sum p^2: another number of keys a row looks at; heavy keys count for more than in e^H.", false, true},
      {"sparsity", "sparsity", "",
       "S = sqrt(participation / k): 1 when the weights are all the same, 1 / sqrt k when one key has it all.", true,
       false},
      {"first_mass", "weight of the first key", "", "What a row gives to the first token of the text.", true, false},
      {"recent_mass", "weight of the last 16 keys", "", "What a row gives to its own token and the 15 before it.", true,
       false},
      {"previous_weight", "weight of the token before", "", "What a sampled row gives to the token before it.", true,
       false},
      {"retrieval_score", "retrieval score", "",
       "What a sampled row gives to the tokens that followed earlier occurrences of its token, beyond chance.", false,
       false},
      {"sink_weight", "weight of the heaviest key", "",
       "The largest mean weight of one key over the rows that see it, of keys that a quarter of the rows see.", true,
       false},
      {"mean_distance", "mean distance", "tokens", "How far back a row looks, averaged by its weights.", false, true},
      {"sink_mass", "weight of the sink", "",
       "The share that goes to the learned sink, a score that belongs to no key, and so to nothing.", true, false},
      {"output_gate", "output gate", "",
       "What the layer's gate lets through of the head's output: 0 when it is closed, whatever the head looks at.",
       true, false},
      {"effective_rank", "effective rank", "",
       "e^(entropy of the singular values) of the sampled rows' weights: how many different ways of looking they mix.",
       false, false},
      {"max_score", "largest score", "", "The largest score of a row, before the softmax.", false, false},
      {"max_uncapped_score", "largest score before the cap", "",
       "The largest score of a row as it goes into the soft cap, which hides how large scores have grown.", false,
       false},
      {"mean_score", "mean score", "", "The mean of the scores under the row's own weights.", false, false},
      {"score_variance", "variance of scores", "",
       "The variance of the scores under the row's own weights: how fast H falls when the scores are scaled up.", false,
       true},
      {"log_partition", "log-partition", "nats", "The log of the sum of e^score over the visible keys.", false, false},
      {"visible", "visible keys", "keys", "k, the number of keys that the mask lets a row see.", false, false},
      {kSimilarity, "similarity to the nearest head", "",
       "1 - JS / log 2 between this head's weights and those of the head most like it: 1 when they are the same.", true,
       false},
      {kSlope, "growth of entropy with length", "nats per factor e",
       "dH / dlog n: 1 for a head that looks everywhere, 0 for one that looks at as many keys in any text.", false,
       false},
  };
  return table;
}

Term term(const std::string& name) {
  const auto found = std::ranges::find(terms(), name, &Term::name);
  return found == terms().end() ? Term{name, name, "", "", false, false} : *found;
}

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> table = {
      {"loss",
       "The mean of -log p(next token), in nats for each token; with lengths, of the same last tokens at each."},
      {"perplexity", "e^loss: as hard as guessing among so many tokens of equal probability."},
      {"±", "The standard deviation between the texts, or between the windows of a single one."},
      {"scale law", "What the products of queries and keys are multiplied by before the softmax."},
      {"window of a layer", "The number of keys that a row of it sees at most."},
      {"redundancy", "How much the heads of a layer tell about each other's weights: 0 nothing, 1 everything."},
      {"residual ratio",
       "||X - mean of its rows|| / ||X|| of what enters a layer: 0 when all tokens have become the same vector."},
      {"distance", "The position of the query less that of the key: 0 is the token itself, 1 the one before."},
      {"mean weight of a key", "What it gets from the rows that see it, on average."},
      {"stretch", "One of at most 128 parts of equal length that the window is cut into for drawing; 48 for matrices."},
      {"weights, one by one",
       "The exact weights of the last 48 rows of the first window, over its last 48 keys; nothing is averaged."},
      {"other keys", "What a row gives to all keys but its 16 heaviest ones, together."},
      {"heads that look alike",
       "1 - JS / log 2 between the weights of two heads of a layer in the same sampled rows: 1 when they are the "
       "same."},
      {"difference", "Of two results: what the second says less what the first says; a → b says both."},
      {"change of a head",
       "The largest difference, in size, among its numbers that are shares from 0 to 1, and its retrieval score."},
      {"what if",
       "The same model on the same text with one change: another scale law or score map, or a mask in addition to its "
       "own."},
      {"missing mass",
       "1 - e^(L_S - L): the weight that the model as it is puts on keys that a mask or a top-k leaves out, mean over "
       "rows."},
      {"error of a head's output",
       "|o - o_S| / |o|, means over rows: how far its output is off when these keys are left out of it alone."},
      {"bound on the error",
       "2 m max|v - mean v| / |o| with the missing mass m: the error is never larger, whatever the values are."},
      {"solved parameter",
       "The number of the scale law, one for each head, with which the head's mean entropy at the longest length is "
       "what it was at the trained length; layers are solved in order, each on what the solved ones before it give."},
      {"shuffled keys",
       "The share of heads that a rule labels after the keys of every sampled row are shuffled: what chance gives."},
  };
  return table;
}

}  // namespace isentropic::scan
