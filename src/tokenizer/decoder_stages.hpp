// The decoder stages listed in decoder.hpp.
#pragma once

#include "tokenizer/decoder.hpp"

namespace isentropic::tokenizer {

// Throws Error for an unknown type (Sequence is not a stage) or a missing field.
std::unique_ptr<DecoderStage> read_decoder_stage(const Field& field);

// Puts a space between tokens.
std::unique_ptr<DecoderStage> spaces_between();

}  // namespace isentropic::tokenizer
