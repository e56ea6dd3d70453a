// Reads and checks ids.
#include "tokenizer/vocabulary.hpp"

#include "io/untrusted_json.hpp"

namespace isentropic::tokenizer {

Vocabulary Vocabulary::read(const Field& field) {
  field.require_object();
  const std::int64_t highest = static_cast<std::int64_t>(4 * field.value().size() + (1 << 16));
  Vocabulary out;
  out.ids_.reserve(field.value().size());
  for (const auto& [token, id] : field.value().items()) {
    const bool plain = id.is_number_unsigned() && id.get<std::uint64_t>() <= static_cast<std::uint64_t>(highest);
    if (plain && out.add(token, id.get<std::int32_t>())) continue;
    const Field entry = field[token];
    entry.integer(highest);  // throws with the reason, unless the id is taken
    entry.refuse("an id of its own: " + io::excerpt(*out.token_of(id.get<std::int64_t>())) + " has it");
  }
  return out;
}

bool Vocabulary::add(const std::string& token, std::int32_t id) {
  if (token_of(id) != nullptr) return false;
  const auto [entry, added] = ids_.emplace(token, id);
  if (!added) return false;
  if (id >= size()) tokens_.resize(static_cast<std::size_t>(id) + 1, nullptr);
  tokens_[static_cast<std::size_t>(id)] = &entry->first;
  return true;
}

std::optional<std::int32_t> Vocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* Vocabulary::token_of(std::int64_t id) const {
  return id >= 0 && id < size() ? tokens_[static_cast<std::size_t>(id)] : nullptr;
}

}  // namespace isentropic::tokenizer
