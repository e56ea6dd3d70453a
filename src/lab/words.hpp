// Scale laws, score maps and masks as written on a command line: "log_n", "log_n:kappa=1.5", "top_k:keys=64". Names of
// numeric parameters may be left out if the values are in order: "top_k:64".
#pragma once

#include <string>
#include <vector>

#include "isentropic/mask.hpp"
#include "isentropic/scale.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::lab {

// An Error names what was not understood and what is accepted.
Scale scale_from_text(const std::string& text);
ScoreMap map_from_text(const std::string& text);

// Parts joined by +, each once; a key must pass all of them.
//
//   window:SIZE             distances below SIZE, on both sides where a row sees both
//   prefix:KEYS             with a window: the first keys pass it (sinks and recent keys: prefix:4+window:256)
//   strided:STRIDE,LOCAL    distances below LOCAL, and multiples of STRIDE
//   segments:LENGTH         the row's own segment of LENGTH tokens
Mask mask_from_text(const std::string& text);

// Rejoins the words of a list that was split at its commas: a part with a value and no name of its own continues the
// word before it ("linear:feature=exp", "sharpen=1" is one word). "none" alone is an empty list.
std::vector<std::string> joined_words(const std::vector<std::string>& parts);

// The inverse.
std::string text_of(const Scale& scale);
std::string text_of(const ScoreMap& map);

}  // namespace isentropic::lab
