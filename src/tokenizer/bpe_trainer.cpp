// Counts all pairs once, then updates only the words that a merge changes.
#include "tokenizer/bpe_trainer.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <unordered_map>

#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/utf8.hpp"
#include "tokenizer/vocabulary.hpp"

namespace isentropic::tokenizer {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

std::uint64_t key_of(const Pair& pair) {
  return (static_cast<std::uint64_t>(pair.first) << 32) | static_cast<std::uint32_t>(pair.second);
}

struct Word {
  Ids symbols;
  std::int64_t count;
};

// A pair, its count when it was queued, and words that contain it. A pair can be queued more than once, for different
// words, because its tokens may arise in several ways ("the" from th e and from t he).
struct Candidate {
  Pair pair;
  std::int64_t count;
  std::vector<std::uint32_t> words;

  bool operator<(const Candidate& other) const {  // the queue pops the greatest first
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  Trainer(std::size_t vocabulary_size, const BpeTrainingOptions& options)
      : vocabulary_size_(vocabulary_size), options_(options) {
    add_first_tokens();
  }

  void count_words(std::span<const std::string_view> texts) {
    const auto pre_tokenizer = byte_level_pre_tokenizer(options_.add_prefix_space);
    TokenMap<std::int64_t> counts;
    const EmitPiece on_word = [&](Piece word) {
      const auto found = counts.find(word.text);
      if (found != counts.end())
        ++found->second;
      else
        counts.emplace(word.text, 1);
    };
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t bad = invalid_utf8_at(texts[i]);
      if (bad < texts[i].size())
        throw Error("texts[" + std::to_string(i) + "]", "not UTF-8 at byte " + std::to_string(bad), "UTF-8");
      if (!texts[i].empty()) pre_tokenizer->split({texts[i]}, on_word);
    }
    for (const auto& [word, count] : counts) words_.push_back({symbols_of(word), count});
  }

  void merge_pairs() {
    count_pairs();
    while (tokens_.size() < vocabulary_size_ && !queue_.empty()) {
      Candidate best = std::move(const_cast<Candidate&>(queue_.top()));  // safe: popped on the next line
      queue_.pop();
      const std::int64_t count = counts_[key_of(best.pair)];
      if (best.count != count) {
        best.count = count;
        queue_.push(std::move(best));
        continue;
      }
      if (count < 1 || static_cast<std::uint64_t>(count) < options_.minimum_frequency) break;
      merge(best);
      if (options_.progress) options_.progress(tokens_.size(), vocabulary_size_);
    }
  }

  ByteLevelBpe result() && {
    return {std::move(tokens_), last_of_each(merges_), options_.special_tokens, options_.add_prefix_space};
  }

 private:
  // Returns the id of the token, which may already exist.
  std::int32_t add_token(const std::string& token) {
    const auto [entry, added] = ids_.emplace(token, static_cast<std::int32_t>(tokens_.size()));
    if (added) tokens_.push_back(token);
    return entry->second;
  }

  void add_first_tokens() {
    for (const std::string& token : options_.special_tokens) {
      if (token.empty() || ids_.contains(token)) throw Error("special token", io::excerpt(token), "a text of its own");
      add_token(token);
    }
    std::vector<char32_t> alphabet;
    for (unsigned byte = 0; byte < 256; ++byte) alphabet.push_back(character_of_byte(static_cast<unsigned char>(byte)));
    std::ranges::sort(alphabet);
    for (const char32_t character : alphabet) add_token(to_utf8(character));
    if (vocabulary_size_ < tokens_.size() || vocabulary_size_ > INT32_MAX)
      throw Error("vocabulary_size", std::to_string(vocabulary_size_),
                  "at least " + std::to_string(tokens_.size()) + ", all bytes and special tokens");
  }

  Ids symbols_of(std::string_view word) const {
    Ids out;
    for (std::size_t i = 0; i < word.size();) {
      const std::size_t start = i;
      next_code_point(word, &i);
      out.push_back(ids_.find(word.substr(start, i - start))->second);
    }
    return out;
  }

  void count_pairs() {
    for (std::uint32_t i = 0; i < words_.size(); ++i)
      for (std::size_t k = 1; k < words_[i].symbols.size(); ++k)
        change({words_[i].symbols[k - 1], words_[i].symbols[k]}, i, +1);
    queue_changed_pairs();
  }

  // Adds (or, for a negative sign, subtracts) one occurrence of a pair in a word.
  void change(const Pair& pair, std::uint32_t word, int sign) {
    counts_[key_of(pair)] += sign * words_[word].count;
    if (sign < 0) return;
    std::vector<std::uint32_t>& words = new_places_.try_emplace(key_of(pair), NewPlaces{pair, {}}).first->second.words;
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void queue_changed_pairs() {
    for (auto& [key, places] : new_places_)
      if (const std::int64_t count = counts_[key]; count > 0)
        queue_.push({places.pair, count, std::move(places.words)});
    new_places_.clear();
  }

  void merge(const Candidate& best) {
    const std::int32_t merged = add_token(tokens_[best.pair.first] + tokens_[best.pair.second]);
    merges_.push_back(best.pair);
    for (const std::uint32_t word : best.words) merge_in_word(best.pair, merged, word);
    queue_changed_pairs();
  }

  void merge_in_word(const Pair& pair, std::int32_t merged, std::uint32_t word) {
    Ids& symbols = words_[word].symbols;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool found = symbols[i] == pair.first && i + 1 < symbols.size() && symbols[i + 1] == pair.second;
      if (found) {
        if (kept > 0) {
          change({symbols[kept - 1], pair.first}, word, -1);
          change({symbols[kept - 1], merged}, word, +1);
        }
        if (i + 2 < symbols.size()) {
          change({pair.second, symbols[i + 2]}, word, -1);
          change({merged, symbols[i + 2]}, word, +1);
        }
        ++i;
      }
      symbols[kept++] = found ? merged : symbols[i];
    }
    symbols.resize(kept);
  }

  // A pair that was merged twice appears only where it was last merged, as Hugging Face writes it.
  static std::vector<Pair> last_of_each(const std::vector<Pair>& merges) {
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t i = 0; i < merges.size(); ++i) last[key_of(merges[i])] = i;
    std::vector<Pair> out;
    for (std::size_t i = 0; i < merges.size(); ++i)
      if (last[key_of(merges[i])] == i) out.push_back(merges[i]);
    return out;
  }

  struct NewPlaces {
    Pair pair;
    std::vector<std::uint32_t> words;
  };

  std::size_t vocabulary_size_;
  const BpeTrainingOptions& options_;
  std::vector<std::string> tokens_;
  TokenMap<std::int32_t> ids_;
  std::vector<Word> words_;
  std::vector<Pair> merges_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::unordered_map<std::uint64_t, NewPlaces> new_places_;  // since the last merge
  std::priority_queue<Candidate> queue_;
};

}  // namespace

ByteLevelBpe train_byte_level_bpe(std::span<const std::string_view> texts, std::size_t vocabulary_size,
                                  const BpeTrainingOptions& options) {
  Trainer trainer(vocabulary_size, options);
  trainer.count_words(texts);
  trainer.merge_pairs();
  return std::move(trainer).result();
}

}  // namespace isentropic::tokenizer
