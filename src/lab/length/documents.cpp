// Reads, tokenizes and stores documents.
#include "lab/length/documents.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/mix.hpp"
#include "checkpoint/safetensors.hpp"
#include "io/output_file.hpp"
#include "isentropic/error.hpp"
#include "lab/language_model_run.hpp"

namespace isentropic::lab::length {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<std::int32_t>;

constexpr std::size_t kTokenizerBytes = 8'000'000;  // of text to train the tokenizer on
constexpr std::int64_t kMostTokens = 1 << 16;       // ids have 16 bits

std::string tokens_path(const std::string& folder) { return folder + "/documents.safetensors"; }

// Sorted, so that the order of the file system does not matter.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw Error("text", "'" + path + "'", "a file, or a folder of files");
    if (!fs::is_directory(path)) {
      out.push_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) out.push_back(entry.path().string());
  }
  std::ranges::sort(out);
  return out;
}

void shuffle(std::vector<std::string>& files, std::uint64_t seed) {
  for (std::size_t i = files.size(); i > 1; --i) std::swap(files[i - 1], files[mix({seed, i}) % i]);
}

struct Texts {
  std::vector<std::string> texts;
  std::int64_t unreadable = 0;
};

// Reads files in order until their sizes add up to `bytes`.
Texts read_texts(const std::vector<std::string>& files, std::size_t bytes) {
  Texts out;
  std::size_t sum = 0;
  for (const std::string& file : files) {
    if (sum >= bytes) break;
    try {
      out.texts.push_back(read_text(file));
      sum += out.texts.back().size();
    } catch (const Error&) {
      ++out.unreadable;
    }
  }
  return out;
}

std::string train_tokenizer(const Study& study, const std::vector<std::string>& texts) {
  std::size_t bytes = 0, count = 0;
  while (count < texts.size() && bytes < kTokenizerBytes) bytes += texts[count++].size();
  const std::vector<std::string> sample(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(count));
  return trained_tokenizer(sample, study.vocabulary);
}

// ---- Files ----

std::vector<std::uint16_t> narrow(const std::vector<Tokens>& rows) {
  std::vector<std::uint16_t> out;
  for (const Tokens& row : rows) std::ranges::copy(row, std::back_inserter(out));
  return out;
}

checkpoint::StoredTensor stored(const char* name, const std::vector<std::uint16_t>& tokens, std::int64_t rows) {
  checkpoint::StoredTensor out{
      .name = name, .type = checkpoint::ElementType::u16, .shape = {}, .bytes = {}, .owner = {}};
  const auto count = static_cast<std::int64_t>(tokens.size());
  out.shape = {rows, rows > 0 ? count / rows : 0};
  out.bytes = std::as_bytes(std::span(tokens));
  return out;
}

std::vector<Tokens> rows_of(const checkpoint::SafetensorsFile& file, const std::string& path, const char* name,
                            std::int64_t vocabulary) {
  const checkpoint::StoredTensor* found = file.find(name);
  if (!found || found->type != checkpoint::ElementType::u16 || found->shape.size() != 2)
    throw Error(path, std::string("without the tokens ") + name, "the documents of a length study");
  std::vector<std::uint16_t> all(found->bytes.size() / 2);
  std::memcpy(all.data(), found->bytes.data(), found->bytes.size());
  const auto largest = std::ranges::max_element(all);
  if (largest != all.end() && *largest >= vocabulary)
    throw Error(path, "with the token " + std::to_string(*largest), "tokens below " + std::to_string(vocabulary));
  std::vector<Tokens> out;
  const std::int64_t columns = found->shape[1];
  for (std::int64_t row = 0; row < found->shape[0]; ++row)
    out.emplace_back(all.begin() + row * columns, all.begin() + (row + 1) * columns);
  return out;
}

// study.json may have been edited, or the file may be of another study.
void require_rows(const std::string& path, const std::vector<Tokens>& rows, const Study& study) {
  const auto says = [](std::int64_t count, std::int64_t length) {
    return "with " + std::to_string(count) + " documents of " + std::to_string(length) + " tokens";
  };
  const auto length = rows.empty() ? 0 : static_cast<std::int64_t>(rows.front().size());
  const std::string found = says(std::ssize(rows), length), wanted = says(study.documents, study.longest() + 1);
  if (found != wanted) throw Error(path, found, "those of this study, " + wanted);
}

void require_enough_text(const Study& study, const Documents& documents) {
  const double epochs = static_cast<double>(study.steps * study.batch * study.length) /
                        static_cast<double>(std::max<std::size_t>(1, documents.train.size()));
  if (epochs > study.max_epochs)
    throw Error("steps", std::to_string(study.steps) + ", which is " + std::to_string(epochs) + " epochs of the texts",
                "at most " + std::to_string(study.max_epochs) + " (fewer steps, more text, or --max-epochs)");
}

}  // namespace

Documents read_documents(const Study& study, const std::function<void(const std::string&)>& say) {
  std::vector<std::string> files = files_of(study.texts);
  shuffle(files, study.seed);
  // Text has fewer than eight bytes per token, so these bytes are enough.
  const std::int64_t wanted = study.training_tokens + 2 * study.documents * (study.longest() + 1);
  const Texts found = read_texts(files, static_cast<std::size_t>(8 * wanted));
  if (found.texts.empty()) throw Error("texts", "without any text", "files of UTF-8");
  say("training a tokenizer of " + std::to_string(study.vocabulary) + " tokens");
  Documents out{.tokenizer = train_tokenizer(study, found.texts)};
  const auto tokenizer = tokenizer::Tokenizer::from_json(out.tokenizer);
  const std::int32_t end = tokenizer.id_of(kEndToken).value();
  out.vocabulary = static_cast<std::int64_t>(tokenizer.vocabulary_size());
  const auto room = static_cast<std::size_t>(study.documents);
  const std::int64_t kept = study.longest() + 1;
  for (const std::string& text : found.texts) {
    if (static_cast<std::int64_t>(out.train.size()) >= study.training_tokens) break;
    Tokens tokens = tokenizer.encode(text, false);
    const bool is_long = static_cast<std::int64_t>(tokens.size()) >= kept;
    if (is_long && (out.tests.size() < room || out.tuning.size() < room)) {
      tokens.resize(static_cast<std::size_t>(kept));
      (out.tests.size() <= out.tuning.size() ? out.tests : out.tuning).push_back(std::move(tokens));
      continue;
    }
    out.train.insert(out.train.end(), tokens.begin(), tokens.end());
    out.train.push_back(end);
  }
  if (static_cast<std::int64_t>(out.train.size()) > study.training_tokens)
    out.train.resize(static_cast<std::size_t>(study.training_tokens));
  if (out.tests.size() < room || out.tuning.size() < room)
    throw Error("texts",
                "with " + std::to_string(out.tests.size() + out.tuning.size()) + " documents of " +
                    std::to_string(kept) + " tokens or more",
                std::to_string(2 * room) + " of them, to test and to tune with (or --documents)");
  if (static_cast<std::int64_t>(out.train.size()) <= study.length)
    throw Error("texts", "with " + std::to_string(out.train.size()) + " tokens to train on", "more than the length");
  require_enough_text(study, out);
  say(std::to_string(out.train.size()) + " tokens to train on, " + std::to_string(room) +
      " documents to test and as many to tune with" +
      (found.unreadable > 0 ? ", " + std::to_string(found.unreadable) + " files left out: not text" : ""));
  return out;
}

void save_documents(const std::string& folder, const Documents& documents) {
  io::write_file("output folder", folder + "/tokenizer.json", documents.tokenizer);
  const auto train = narrow({documents.train}), tuning = narrow(documents.tuning), tests = narrow(documents.tests);
  const auto rows = static_cast<std::int64_t>(documents.tests.size());
  checkpoint::write_safetensors(
      tokens_path(folder), {stored("train", train, 1), stored("tuning", tuning, rows), stored("test", tests, rows)},
      {{"vocabulary", std::to_string(documents.vocabulary)}});
}

Documents stored_documents(const std::string& folder, const Study& study) {
  const std::string path = tokens_path(folder);
  const auto file = checkpoint::SafetensorsFile::open(path);
  const auto vocabulary = file.metadata().find("vocabulary");
  if (vocabulary == file.metadata().end()) throw Error(path, "without a vocabulary", "the documents of a length study");
  Documents out{.vocabulary = std::atoll(vocabulary->second.c_str())};
  if (out.vocabulary < 1 || out.vocabulary > kMostTokens)
    throw Error(path, "with a vocabulary of '" + vocabulary->second + "'", "1 to " + std::to_string(kMostTokens));
  out.train = rows_of(file, path, "train", out.vocabulary).front();
  out.tuning = rows_of(file, path, "tuning", out.vocabulary);
  out.tests = rows_of(file, path, "test", out.vocabulary);
  for (const auto* rows : {&out.tuning, &out.tests}) require_rows(path, *rows, study);
  require_enough_text(study, out);
  return out;
}

Corpus corpus_of(const Documents& documents) {
  Corpus out{.train = documents.train, .validation = {}};
  for (const Tokens& document : documents.tuning)
    out.validation.insert(out.validation.end(), document.begin(), document.end());
  return out;
}

}  // namespace isentropic::lab::length
