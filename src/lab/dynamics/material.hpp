// The texts of a study as tokens.
#pragma once

#include <vector>

#include "lab/corpus.hpp"
#include "lab/dynamics/study.hpp"
#include "lab/study_folder.hpp"
#include "tokenizer/tokenizer.hpp"

namespace isentropic::lab::dynamics {

// The texts as tokens of one tokenizer, trained on all of them.
struct Material {
  tokenizer::Tokenizer tokenizer;
  std::vector<Corpus> corpora;  // one per text
};
// Throws Error if a text has changed since the study began, or is too short.
Material read_material(const Study& study, const StudyCallbacks& callbacks);

}  // namespace isentropic::lab::dynamics
