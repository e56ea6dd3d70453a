// Every post-processor becomes a template.
#include "tokenizer/post_processor.hpp"

#include <algorithm>

#include "tokenizer/types.hpp"

namespace isentropic::tokenizer {
namespace {

using Template = std::vector<std::int32_t>;

Template read_template(const Field& field, std::int32_t size, std::int32_t text);

// ["[SEP]", 102]
std::int32_t read_token(const Field& field, std::int32_t size) {
  if (field.elements().size() != 2) field.refuse("a token and its id");
  return static_cast<std::int32_t>(field.at(1).integer(size - 1));
}

Template read_pieces(const Field& field, std::int32_t size, std::int32_t text) {
  Template out;
  for (const Field& piece : field["single"].elements()) {
    if (const auto sequence = piece.find("Sequence")) {
      if ((*sequence)["id"].string() != "A") (*sequence)["id"].refuse("A, the only text");
      out.push_back(text);
      continue;
    }
    const Field token = field["special_tokens"][piece["SpecialToken"]["id"].string()];
    for (const Field& id : token["ids"].elements()) out.push_back(static_cast<std::int32_t>(id.integer(size - 1)));
  }
  return out;
}

Template read_sequence(const Field& field, std::int32_t size, std::int32_t text) {
  const Template nothing_added = {text};
  Template out = nothing_added;
  for (const Field& part : parts_of_sequence(field)) {
    const Template next = read_template(part, size, text);
    if (next == nothing_added) continue;
    if (out != nothing_added) part.refuse("no second one that adds tokens");
    out = next;
  }
  return out;
}

Template read_template(const Field& field, std::int32_t size, std::int32_t text) {
  const Field type = field["type"];
  const std::string& name = type.string();
  if (name == "TemplateProcessing") return read_pieces(field, size, text);
  if (name == "BertProcessing" || name == "RobertaProcessing")
    return {read_token(field["cls"], size), text, read_token(field["sep"], size)};
  if (name == "ByteLevel") return {text};
  if (name == "Sequence") return read_sequence(field["processors"], size, text);
  type.refuse("one of BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing");
}

}  // namespace

PostProcessor::PostProcessor(const Field& field, std::int32_t vocabulary_size)
    : template_(read_template(field, vocabulary_size, kText)) {
  constexpr std::ptrdiff_t most_copies = 8;
  if (std::ranges::count(template_, kText) > most_copies)
    field.refuse("a template with the text at most " + std::to_string(most_copies) + " times");
}

Ids PostProcessor::apply(Ids ids, bool add_special_tokens) const {
  if (template_ == Ids{kText}) return ids;
  Ids out;
  out.reserve(ids.size() + template_.size());
  for (const std::int32_t part : template_) {
    if (part == kText)
      out.insert(out.end(), ids.begin(), ids.end());
    else if (add_special_tokens)
      out.push_back(part);
  }
  return out;
}

}  // namespace isentropic::tokenizer
