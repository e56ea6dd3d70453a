// The chain of stages.
#include "tokenizer/decoder.hpp"

#include "tokenizer/decoder_stages.hpp"
#include "tokenizer/types.hpp"

namespace isentropic::tokenizer {
namespace {

using Stages = std::vector<std::unique_ptr<DecoderStage>>;

void read_stages(const Field& field, Stages* stages) {
  constexpr std::size_t maximum = 64;  // each adds a level of recursion
  if (field["type"].string() == "Sequence") {
    for (const Field& part : parts_of_sequence(field["decoders"])) read_stages(part, stages);
  } else {
    stages->push_back(read_decoder_stage(field));
    if (stages->size() > maximum) field.refuse("at most " + std::to_string(maximum) + " decoders");
  }
}

}  // namespace

DecoderStage::Pass Decoding::pass_to(std::size_t stage, std::string* out) {
  return [this, stage, out](std::string_view part, bool ends) {
    if (stage == stages_.size())
      out->append(part);
    else
      stages_[stage]->put(part, ends, pass_to(stage + 1, out));
  };
}

std::string Decoding::put(std::string_view token) {
  std::string out;
  pass_to(0, &out)(token, true);
  return out;
}

std::string Decoding::finish() {
  std::string out;
  for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i]->finish(pass_to(i + 1, &out));
  return out;
}

Decoder::Decoder() { stages_.push_back(spaces_between()); }

Decoder::Decoder(const Field& field) { read_stages(field, &stages_); }

Decoding Decoder::start() const {
  Stages stages;
  for (const auto& stage : stages_) stages.push_back(stage->fresh());
  return Decoding(std::move(stages));
}

}  // namespace isentropic::tokenizer
