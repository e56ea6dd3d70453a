// Reads texts and encodes them.
#include "lab/corpus.hpp"

#include <fstream>
#include <sstream>

#include "isentropic/error.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::lab {
namespace {

void append(const tokenizer::Tokenizer& tokenizer, const std::string& text, std::int32_t end,
            std::vector<std::int32_t>* out) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text, false);
  out->insert(out->end(), ids.begin(), ids.end());
  if (end >= 0) out->push_back(end);
}

void require_longer(const char* what, const std::vector<std::int32_t>& tokens, std::int64_t length) {
  if (static_cast<std::int64_t>(tokens.size()) <= length)
    throw Error(what, std::to_string(tokens.size()) + " tokens long",
                "more than the length, " + std::to_string(length));
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  if (!file || out.str().empty()) {
    const bool is_empty = file.is_open() && out.str().empty();
    throw Error("text " + path, is_empty ? "empty, or not a file" : "not readable", "a file of text");
  }
  std::string text = out.str();
  if (const std::size_t at = tokenizer::invalid_utf8_at(text); at < text.size())
    throw Error("text " + path, "not UTF-8 at byte " + std::to_string(at), "UTF-8");
  return text;
}

std::uint64_t fingerprint(const std::string& text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return out;
}

Corpus make_corpus(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& train,
                   const std::vector<std::string>& validation, const CorpusOptions& options) {
  Corpus out;
  for (const std::string& text : train) append(tokenizer, text, options.end, &out.train);
  for (const std::string& text : validation) append(tokenizer, text, options.end, &out.validation);
  if (validation.empty()) {
    const auto kept = static_cast<std::ptrdiff_t>(static_cast<double>(out.train.size()) * (1 - options.held_out));
    out.validation.assign(out.train.begin() + kept, out.train.end());
    out.train.resize(static_cast<std::size_t>(kept));
  }
  require_longer("training text", out.train, options.length);
  require_longer("validation text", out.validation, options.length);
  return out;
}

}  // namespace isentropic::lab
