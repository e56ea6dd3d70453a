// Whether Metaspace puts its character before every piece, before the first piece of the text, or before none.
#pragma once

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

enum class PrependScheme { always, first, never };

// From "prepend_scheme", or "add_prefix_space" in old files; always if both are absent.
PrependScheme read_prepend_scheme(const Field& metaspace);

}  // namespace isentropic::tokenizer
