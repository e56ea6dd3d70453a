// Reads and checks the inputs of isentropic scan.
#include "cli/models/scan_inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/tools/arguments.hpp"
#include "lab/corpus.hpp"
#include "lab/words.hpp"
#include "scan/comparison.hpp"

namespace isentropic::cli {
namespace {

constexpr std::int64_t kShortest = 16;  // tokens of a window; in fewer every head looks like a sink

// A JSON list of token ids.
std::vector<std::int32_t> read_ids(const std::string& path, std::int64_t vocabulary) {
  std::vector<std::int32_t> out;
  const nlohmann::json json = nlohmann::json::parse(lab::read_text(path), nullptr, false);
  if (!json.is_array()) throw Error(path, "not a JSON list", "a list of token ids, as [1, 306, 29871]");
  for (const nlohmann::json& id : json) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary)
      throw Error(path, "a list with " + id.dump(), "integers from 0 to " + std::to_string(vocabulary - 1));
    out.push_back(id);
  }
  return out;
}

// Takes over the special tokens that the tokenizer puts before and after a text.
void take_special_tokens(const tokenizer::Tokenizer& tokenizer, const std::string& text, lab::ScanOptions* options) {
  constexpr const char* kSpaces = " \t\r\n";  // some tokenizers drop them: a sample of spaces would be no token
  const std::size_t first = text.find_first_not_of(kSpaces);
  const std::string sample =
      first == std::string::npos ? text : text.substr(first, text.find_first_of(kSpaces, first) - first);
  const std::vector<std::int32_t> plain = tokenizer.encode(sample, false), full = tokenizer.encode(sample, true);
  const auto place = std::ranges::search(full, plain);
  if (plain.empty() || place.empty()) return;
  options->prefix.assign(full.begin(), place.begin());
  options->suffix.assign(place.end(), full.end());
}

struct NamedText {
  std::string name, text;
};
// A text file; or, if its name ends in .jsonl, one JSON string or object with a "text" per line.
std::vector<NamedText> texts_of(const std::string& path) {
  const std::string contents = lab::read_text(path);
  if (std::filesystem::path(path).extension() != ".jsonl") return {{path, contents}};
  std::vector<NamedText> out;
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    const nlohmann::json text = entry.is_object() && entry.contains("text") ? entry["text"] : entry;
    const std::string name = path + ", line " + std::to_string(out.size() + 1);
    if (!text.is_string()) throw Error(name, "without a text", "a JSON string or {\"text\": ...}");
    out.push_back({name, text});
  }
  return out;
}

std::vector<lab::ScanText> read_texts(const ScanArguments& arguments, const tokenizer::Tokenizer* tokenizer,
                                      std::int64_t vocabulary, lab::ScanOptions* options) {
  if (!arguments.ids.empty()) return {{arguments.ids, read_ids(arguments.ids, vocabulary)}};
  std::vector<lab::ScanText> out;
  for (const std::string& path : arguments.texts)
    for (const auto& [name, text] : texts_of(path)) {
      if (out.empty()) take_special_tokens(*tokenizer, text, options);
      out.push_back({name, tokenizer->encode(text, false)});
    }
  return out;
}

void check_heads(const scan::Result& shape, const scan::PageOptions& options) {
  for (const auto& [layer, head] : options.heads)
    if (layer >= shape.layers.size() || head >= static_cast<std::size_t>(shape.layers[layer].description.heads))
      throw UsageError("--heads", std::to_string(layer) + "." + std::to_string(head),
                       "LAYER.HEAD, both from 0, of " + scan::shape_of(shape));
}

std::vector<ScanSource> open_sources(const ScanArguments& arguments) {
  std::vector<ScanSource> out;
  for (const std::string& path : {arguments.model.path, arguments.against}) {
    if (path.empty()) continue;
    ScanSource& source = out.emplace_back();
    if (is_scan_file(path))
      source.found = scan::results_from_json(lab::read_text(path), path);
    else
      source.inputs = std::make_unique<ScanInputs>(arguments, path);
  }
  if (out.size() == 2)
    for (const ScanSource& source : out)
      if (source.found.size() == 2) throw UsageError("--against", arguments.against, "nothing: one is a comparison");
  // Two models read windows of the same length.
  if (out.size() == 2 && out[0].inputs && out[1].inputs)
    for (ScanSource& source : out)
      source.inputs->options.length = std::min(out[0].inputs->options.length, out[1].inputs->options.length);
  for (const ScanSource& source : out)
    if (source.inputs) source.inputs->check(arguments);
  if (out.size() == 2) scan::require_one_shape(out[0].shape(), out[1].shape());
  check_heads(out[0].shape(), page_options(arguments));
  return out;
}

}  // namespace

ScanInputs::ScanInputs(const ScanArguments& arguments, const std::string& folder)
    : path(folder), model(model::open_model(folder, arguments.model.options())) {
  if (arguments.ids.empty()) tokenizer = std::make_unique<tokenizer::Tokenizer>(tokenizer::Tokenizer::read(folder));
  options.key_mass = !arguments.fast;
  options.keep_rows = arguments.per_row;
  for (const std::string& length : arguments.lengths)
    options.lengths.push_back(parse_integer("--lengths", length, kShortest, std::int64_t{1} << 24));
  std::ranges::sort(options.lengths);
  const auto repeated = std::ranges::unique(options.lengths);
  options.lengths.erase(repeated.begin(), repeated.end());
  texts = read_texts(arguments, tokenizer.get(), model.description().vocabulary, &options);
  options.length = arguments.length > 0 ? arguments.length : usual_length();
}

void ScanInputs::check(const ScanArguments& arguments) {
  lab::check_lengths(texts, options);
  if (options.length < kShortest)
    throw Error("a text", std::to_string(options.length) + " tokens long",
                "at least " + std::to_string(kShortest) + ", the shortest window");
  if (longest() > model.description().trained_length && !arguments.allow_beyond)
    throw UsageError(options.length == longest() ? "--length" : "--lengths", std::to_string(longest()),
                     "at most " + std::to_string(model.description().trained_length) +
                         ", the model's positions (--allow-beyond: more)");
  changes = arguments.what_if.changes(model);
  theory = arguments.what_if.theory_options();
  law_to_solve = arguments.what_if.law_to_solve(model, options);
  if (arguments.outputs.asks_for("--write-kappa") && !law_to_solve)
    throw UsageError("--write-kappa", "given alone", "--solve-kappa with it");
}

std::int64_t ScanInputs::longest() const {
  return std::max(options.length, options.lengths.empty() ? 0 : options.lengths.back());
}

scan::Result ScanInputs::shape() const {
  scan::Result out;
  out.model = path;
  for (std::size_t layer = 0; layer < model.description().layers.size(); ++layer) {
    out.layers.emplace_back();
    out.layers.back().description.heads = model.description().heads;
  }
  return out;
}

scan::Result ScanInputs::about() const {
  scan::Result out;
  out.model = path;
  out.family = model.description().family;
  out.scale = lab::text_of(model.description().scale);
  out.map = lab::text_of(model.description().map);
  for (const auto& item : model.parameters()) out.parameters += item.value().numel();
  out.trained_length = model.description().trained_length;
  out.length = options.length;
  if (tokenizer)
    for (const std::int32_t id : lab::window_of(texts.front(), 0, options.length, options))
      out.tokens_of_window.push_back(tokenizer->decode(std::span(&id, 1)));
  return out;
}

std::int64_t ScanInputs::usual_length() const {
  std::int64_t out = model.description().trained_length;
  for (const lab::ScanText& text : texts)
    out = std::min(out, static_cast<std::int64_t>(text.ids.size()) + lab::tokens_around(options));
  return out;
}

scan::Result ScanSource::shape() const {
  if (inputs) return inputs->shape();
  scan::Result out = found.front();
  out.heads.clear();
  return out;
}

bool is_scan_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::path(path).extension() == ".json" && !std::filesystem::is_directory(path, ignored);
}

scan::PageOptions page_options(const ScanArguments& arguments) {
  scan::PageOptions out;
  for (const std::string& text : arguments.heads) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos) throw UsageError("--heads", "'" + text + "'", "LAYER.HEAD, as 3.1, both from 0");
    const auto part = [&](const std::string& number) {
      return static_cast<std::size_t>(parse_integer("--heads", number, 0, 1 << 20));
    };
    out.heads.emplace_back(part(text.substr(0, dot)), part(text.substr(dot + 1)));
  }
  return out;
}

std::vector<ScanSource> read_sources(const ScanArguments& arguments) try {
  return open_sources(arguments);
} catch (const UsageError&) {
  throw;
} catch (const Error& error) {
  throw UsageError(error.what());
}

}  // namespace isentropic::cli
