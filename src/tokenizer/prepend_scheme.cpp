// Old and new fields of Metaspace.
#include "tokenizer/prepend_scheme.hpp"

namespace isentropic::tokenizer {

PrependScheme read_prepend_scheme(const Field& metaspace) {
  const bool add_prefix_space = metaspace.boolean_or("add_prefix_space", true);
  const auto scheme = metaspace.find("prepend_scheme");
  if (!scheme) return add_prefix_space ? PrependScheme::always : PrependScheme::never;
  if (scheme->string() == "never") return PrependScheme::never;
  if (!add_prefix_space) scheme->refuse("never, as add_prefix_space is false");
  if (scheme->string() == "always") return PrependScheme::always;
  if (scheme->string() == "first") return PrependScheme::first;
  scheme->refuse("always, first or never");
}

}  // namespace isentropic::tokenizer
