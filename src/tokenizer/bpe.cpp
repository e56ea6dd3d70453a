// Merges with a queue over a linked list.
#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <queue>
#include <set>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

constexpr std::size_t kLongWord = 64;  // symbols

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

std::string byte_token(unsigned byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

// A merge that was possible when it was queued.
struct Candidate {
  std::int32_t rank, position, merged;
  bool operator<(const Candidate& other) const {  // the queue pops the greatest first
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

struct Parts {
  std::string left, right;
};

// "a b" or ["a", "b"]
Parts read_parts(const Field& merges, std::size_t rank) {
  const nlohmann::json& value = merges.value()[rank];
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string())
    return {value[0], value[1]};
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  merges.at(rank).refuse("two tokens, as \"a b\" or [\"a\", \"b\"]");
}

}  // namespace

Bpe::Bpe(const Field& field)
    : Model(Vocabulary::read(field["vocab"])),
      prefix_(field.string_or("continuing_subword_prefix", "")),
      suffix_(field.string_or("end_of_word_suffix", "")),
      fuse_unknown_(field.boolean_or("fuse_unk", false)),
      byte_fallback_(field.boolean_or("byte_fallback", false)),
      ignore_merges_(field.boolean_or("ignore_merges", false)) {
  if (const auto dropout = field.find("dropout"); dropout && dropout->value() != 0)
    dropout->refuse("null or 0: with it the same text has many encodings");
  if (const auto unknown = field.find("unk_token")) unknown_token_ = unknown->string();
  for (unsigned byte = 0; byte < 256; ++byte)
    ids_of_bytes_.push_back(vocabulary().id_of(byte_token(byte)).value_or(-1));
  read_merges(field["merges"]);
  find_joinable();
}

void Bpe::read_merges(const Field& merges) {
  merges.require_array();
  rules_.reserve(merges.value().size());
  // The header line of old merges files, which some tokenizer.json files have kept.
  const auto is_header = [&](std::size_t i) {
    const nlohmann::json& value = merges.value()[i];
    return value.is_string() && value.get_ref<const std::string&>().starts_with("#version");
  };
  for (std::size_t i = 0; i < merges.value().size(); ++i)
    if (!is_header(i)) add_merge(merges, i);
}

void Bpe::add_merge(const Field& merges, std::size_t rank) {
  const Parts parts = read_parts(merges, rank);
  const auto id_of = [&](const std::string& token) {
    const auto id = vocabulary().id_of(token);
    if (!id) throw Error(merges.at(rank).place(), "about " + io::excerpt(token), "tokens of the vocabulary");
    return *id;
  };
  const std::int32_t left = id_of(parts.left), right = id_of(parts.right);
  if (parts.right.size() < prefix_.size()) merges.at(rank).refuse("a second token with the continuing_subword_prefix");
  const std::int32_t merged = id_of(parts.left + parts.right.substr(prefix_.size()));
  if (merged == left || merged == right) merges.at(rank).refuse("two tokens that make a longer one");
  rules_[key_of(left, right)] = {static_cast<std::int32_t>(rank), merged};
}

const Bpe::Rule* Bpe::rule_for(std::int32_t left, std::int32_t right) const {
  const auto found = rules_.find(key_of(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

std::optional<std::int32_t> Bpe::id_of_character(std::string_view character, bool first, bool last) const {
  const bool plain = (first || prefix_.empty()) && (!last || suffix_.empty());
  if (plain) return vocabulary().id_of(character);
  return vocabulary().id_of((first ? "" : prefix_) + std::string(character) + (last ? suffix_ : ""));
}

bool Bpe::append_bytes(std::string_view character, Ids* ids) const {
  const auto id_of = [&](char c) { return ids_of_bytes_[static_cast<unsigned char>(c)]; };
  if (!std::ranges::all_of(character, [&](char c) { return id_of(c) >= 0; })) return false;
  std::ranges::transform(character, std::back_inserter(*ids), id_of);
  return true;
}

std::int32_t Bpe::unknown() const {
  const auto id = vocabulary().id_of(*unknown_token_);
  if (!id) throw Error("unk_token", io::excerpt(*unknown_token_), "a token of the vocabulary, as the text needs it");
  return *id;
}

Ids Bpe::symbols_of(std::string_view word) const {
  Ids out;
  out.reserve(word.size());
  // Deferred until the next known character, and so placed after the bytes of others, as Hugging Face does.
  bool unknown_waiting = false;
  const auto write_unknown = [&] {
    if (unknown_waiting) out.push_back(unknown());
    unknown_waiting = false;
  };
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t start = i;
    next_code_point(word, &i);
    const std::string_view character = word.substr(start, i - start);
    if (const auto id = id_of_character(character, start == 0, i == word.size())) {
      write_unknown();
      out.push_back(*id);
    } else if (byte_fallback_ && append_bytes(character, &out)) {
      continue;
    } else if (unknown_token_) {
      if (!fuse_unknown_) write_unknown();
      unknown_waiting = true;
    }
  }
  write_unknown();
  return out;
}

// A token made by rules can begin and end only with certain initial symbols: usually its first and last character, but
// "<0xE2>" may also be made of characters.
void Bpe::find_joinable() {
  const auto is_symbol = [&](std::int32_t id) {
    const std::string& token = *vocabulary().token_of(id);
    const bool decorated = !prefix_.empty() || (!suffix_.empty() && token.ends_with(suffix_));
    return decorated || count_code_points(token) <= 1 || token == unknown_token_ ||
           std::ranges::find(ids_of_bytes_, id) != ids_of_bytes_.end();
  };
  struct Made {
    std::int32_t left, right, merged;
  };
  std::vector<Made> rules;
  for (const auto& [pair, rule] : rules_)
    rules.push_back({static_cast<std::int32_t>(pair >> 32), static_cast<std::int32_t>(pair), rule.merged});
  const auto length = [&](const Made& rule) { return vocabulary().token_of(rule.merged)->size(); };
  std::ranges::sort(rules, {}, length);  // parts before the tokens made of them

  std::unordered_map<std::int32_t, std::set<std::int32_t>> firsts, lasts;
  const auto symbols_in = [&](auto* sets, std::int32_t id) -> std::set<std::int32_t>& {
    const auto [entry, added] = sets->try_emplace(id);
    if (added && is_symbol(id)) entry->second.insert(id);
    return entry->second;
  };
  for (const Made& rule : rules) {
    for (const std::int32_t last : symbols_in(&lasts, rule.left))
      for (const std::int32_t first : symbols_in(&firsts, rule.right)) joinable_.insert(key_of(last, first));
    symbols_in(&firsts, rule.merged).merge(std::set(symbols_in(&firsts, rule.left)));
    symbols_in(&lasts, rule.merged).merge(std::set(symbols_in(&lasts, rule.right)));
  }
}

void Bpe::merge(std::span<const std::int32_t> symbols, Ids* ids) const {
  const auto count = static_cast<std::int32_t>(symbols.size());
  std::vector<Symbol> list(symbols.size());
  std::vector<Candidate> found;
  for (std::int32_t i = 0; i < count; ++i) {
    list[i] = {symbols[i], i - 1, i + 1 < count ? i + 1 : -1};
    if (i + 1 == count) continue;
    if (const Rule* rule = rule_for(symbols[i], symbols[i + 1])) found.push_back({rule->rank, i, rule->merged});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(found));
  const auto offer = [&](std::int32_t left) {
    if (left < 0 || list[left].next < 0) return;
    if (const Rule* rule = rule_for(list[left].id, list[list[left].next].id))
      queue.push({rule->rank, left, rule->merged});
  };
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = list[best.position];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = list[left.next];
    const Rule* rule = rule_for(left.id, right.id);
    if (rule == nullptr || rule->merged != best.merged) continue;  // one of them has since been merged with another
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) list[left.next].previous = best.position;
    offer(left.previous);
    offer(best.position);
  }
  for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = list[i].next) ids->push_back(list[i].id);
}

void Bpe::encode(std::string_view word, Ids* ids) const {
  if (ignore_merges_) {
    if (const auto id = vocabulary().id_of(word)) return ids->push_back(*id);
  }
  const Ids symbols = symbols_of(word);
  const std::span<const std::int32_t> all = symbols;
  if (all.size() <= kLongWord || !prefix_.empty()) return merge(all, ids);
  std::size_t start = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (joinable_.contains(key_of(all[i - 1], all[i]))) continue;
    merge(all.subspan(start, i - start), ids);
    start = i;
  }
  merge(all.subspan(start), ids);
}

}  // namespace isentropic::tokenizer
