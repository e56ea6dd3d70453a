// Reads and tokenizes the texts of a study.
#include "lab/dynamics/material.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isentropic/error.hpp"
#include "lab/language_model_run.hpp"

namespace isentropic::lab::dynamics {

Material read_material(const Study& study, const StudyCallbacks& callbacks) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < study.texts.size(); ++i) {
    texts.push_back(read_text(study.texts[i]));
    if (fingerprint(texts.back()) != study.fingerprints.at(i))
      throw Error("text " + study.texts[i], "not what it was when the study began", "the same text");
  }
  callbacks.tell(fmt::format("training a tokenizer of {} tokens", study.vocabulary));
  Material out{tokenizer::Tokenizer::from_json(trained_tokenizer(texts, study.vocabulary)), {}};
  CorpusOptions options;
  options.end = out.tokenizer.id_of(kEndToken).value_or(-1);
  options.held_out = study.held_out;
  options.length = study.length;
  if (study.has("target"))
    for (const std::int64_t length : study.other_lengths) options.length = std::max(options.length, length);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out.corpora.push_back(make_corpus(out.tokenizer, {texts[i]}, {}, options));
    callbacks.tell(fmt::format("{}: {} tokens to train on, {} held out", study.texts[i], out.corpora[i].train.size(),
                               out.corpora[i].validation.size()));
  }
  return out;
}

}  // namespace isentropic::lab::dynamics
