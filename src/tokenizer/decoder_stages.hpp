// The stages of decoders that decoder.hpp lists.
#pragma once

#include "tokenizer/decoder.hpp"

namespace isentropic::tokenizer {

// Throws Error for a type that is not known (Sequence is none) or a field that is missing.
std::unique_ptr<DecoderStage> read_decoder_stage(const Field& field);

// Tokens with a space between them.
std::unique_ptr<DecoderStage> spaces_between();

}  // namespace isentropic::tokenizer
