// Whether Metaspace puts its character in front of a text: of every piece, of the first of the text, or of none.
#pragma once

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

enum class PrependScheme { always, first, never };

// From "prepend_scheme", or "add_prefix_space" in old files; always when neither is there.
PrependScheme read_prepend_scheme(const Field& metaspace);

}  // namespace isentropic::tokenizer
