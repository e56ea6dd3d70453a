// Options of a length study: what they may be, and study.json.
#include <algorithm>
#include <cmath>

#include "isentropic/error.hpp"
#include "lab/length/laws.hpp"
#include "lab/length/study.hpp"
#include "lab/study_options.hpp"
#include "model/names.hpp"

namespace isentropic::lab::length {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Study, texts, laws, positions, learning_rates, seeds, best, vocabulary, layers,
                                   heads, width, steps, batch, length, scored, factors, training_tokens, documents,
                                   max_epochs, target_entropy, weight_decay, attention_dropout, attention_dropout_sweep,
                                   weight_decay_sweep, seed, device, bfloat16)

namespace {

void require_positive(const char* name, double value) {
  if (!(value > 0)) throw Error(name, value, "more than 0");
}

void require_regularisation(double dropout, double decay) {
  if (!(dropout >= 0 && dropout < 1)) throw Error("attention dropout", dropout, "a probability, 0 to below 1");
  if (!(decay >= 0) || !std::isfinite(decay)) throw Error("weight decay", decay, "0 or more");
}

}  // namespace

std::vector<std::int64_t> Study::lengths() const {
  std::vector<std::int64_t> out;
  for (const double factor : factors)
    out.push_back(static_cast<std::int64_t>(std::lround(factor * static_cast<double>(length))));
  return out;
}

std::int64_t Study::longest() const { return std::ranges::max(lengths()); }

void check_study(const Study& study) {
  laws_of(study);
  model::device_named("device", study.device);
  for (const std::string& positions : study.positions)
    if (positions != "none" && positions != "rotary") throw Error("positions", "'" + positions + "'", "none or rotary");
  if (study.width % study.heads != 0) throw Error("width", study.width, "a multiple of the heads");
  const bool rotary = std::ranges::find(study.positions, "rotary") != study.positions.end();
  if (rotary && study.width / study.heads % 2 != 0)
    throw Error("width", study.width, "an even number for each head: positions are rotary");
  if (study.factors.empty() || study.learning_rates.empty())
    throw Error("factors or learning rates", "none", "one or more");
  for (const double rate : study.learning_rates) require_positive("learning rate", rate);
  for (const double factor : study.factors) require_positive("factor", factor);
  require_positive("max epochs", study.max_epochs);
  if (study.longest() <= study.length) throw Error("factors", "none above 1", "one: laws are ranked beyond the length");
  require_regularisation(study.attention_dropout, study.weight_decay);
  for (const double dropout : study.attention_dropout_sweep)
    for (const double decay : study.weight_decay_sweep) require_regularisation(dropout, decay);
  if (study.training_tokens <= study.length)
    throw Error("training tokens", study.training_tokens, "more than the length, " + std::to_string(study.length));
  const std::int64_t shortest = std::ranges::min(study.lengths());
  if (study.scored < 1 || study.scored > shortest)
    throw Error("scored", study.scored, "1 to the shortest length, " + std::to_string(shortest));
  if (study.vocabulary > 1 << 16) throw Error("vocabulary", study.vocabulary, "at most 65536");
}

nlohmann::ordered_json options_of(const Study& study) { return options_to_json(study); }

Study study_of(const nlohmann::ordered_json& options) { return options_from_json<Study>(options); }

}  // namespace isentropic::lab::length
