// Parameters by name, checked against what a law or map accepts.
#pragma once

#include "base/list_of.hpp"
#include "base/one_line.hpp"
#include "isentropic/error.hpp"
#include "isentropic/scale.hpp"
#include "isentropic/vocabulary.hpp"

namespace isentropic {

// A value for every parameter, in their order: the given one or the default. Error if a name is unknown, a value has
// the wrong type, or a parameter without a default is missing. `of`: "scale log_n", for messages.
std::vector<Option> complete_options(const std::string& of, const std::vector<Parameter>& parameters,
                                     const Options& options);

// Converts to a number; integers are accepted too.
double as_number(const Option& option);
PerHead as_per_head(const Option& option);
Option as_option(const PerHead& values);

// The law or map of that name; an Error lists the known names.
template <class Word>
const Word& word_named(const char* kind, const std::vector<Word>& words, const std::string& name) {
  for (const Word& word : words)
    if (word.name == name) return word;
  std::vector<std::string> known;
  for (const Word& word : words) known.push_back(word.name);
  throw Error(kind, in_quotes(name), list_of(known));
}

}  // namespace isentropic
