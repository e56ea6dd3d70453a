// Scale laws and score maps as a command line writes them: "log_n", "log_n:kappa=1.5", "top_k:keys=64".
#pragma once

#include <string>

#include "isentropic/scale.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::lab {

// An Error says what is not understood, and what is known.
Scale scale_from_text(const std::string& text);
ScoreMap map_from_text(const std::string& text);

// The same the other way round.
std::string text_of(const Scale& scale);
std::string text_of(const ScoreMap& map);

}  // namespace isentropic::lab
