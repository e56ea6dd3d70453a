// Counts heads and layers, and puts the counts into sentences.
#include "scan/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scan/notable_heads.hpp"
#include "scan/slope.hpp"

namespace isentropic::scan {
namespace {

struct Phrase {
  const char *label, *one, *many;
};
constexpr Phrase kPhrases[] = {
    {"previous_token", "looks at the token before", "look at the token before"},
    {"retrieval", "looks for what followed earlier occurrences of a token",
     "look for what followed earlier occurrences of a token"},
    {"sink", "rests on one key", "rest on one key"},
    {"local", "looks at the last few tokens", "look at the last few tokens"},
    {"dispersed", "spreads its weight almost evenly", "spread their weight almost evenly"},
    {"collapsed", "looks at a single key", "look at a single key"},
    {"redundant", "has the weights of another head", "have the weights of another head"},
    {"dispersing", "disperses as the text grows", "disperse as the text grows"},
    {"large_scores", "has scores of 100 or more", "have scores of 100 or more"},
};

// "1, 3 and 5"; "0 to 4 and 7".
std::string list_of(const std::vector<std::size_t>& rising) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rising.size();) {
    std::size_t last = i;
    while (last + 1 < rising.size() && rising[last + 1] == rising[last] + 1) ++last;
    if (last >= i + 2) {
      parts.push_back(fmt::format("{} to {}", rising[i], rising[last]));
    } else {
      for (std::size_t j = i; j <= last; ++j) parts.push_back(std::to_string(rising[j]));
    }
    i = last + 1;
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

const Phrase* phrase_for(const std::string& label) {
  const auto found = std::ranges::find_if(kPhrases, [&](const Phrase& phrase) { return label == phrase.label; });
  return found == std::end(kPhrases) ? nullptr : found;
}

// For heads that rest on one key: how many of them rest on the first.
std::string with_first_key(const Result& result, const LabelCount& count) {
  std::size_t first_key = 0;
  for (const HeadResult& head : result.heads)
    first_key += std::ranges::any_of(
        head.labels, [&](const Label& label) { return label.name == count.label && label.detail == "key 0"; });
  if (first_key == count.heads) return ", the first token";
  return 2 * first_key > count.heads ? ", most of them the first token" : "";
}

// The four most frequent labels.
std::string labels_sentence(const Result& result) {
  constexpr std::size_t kMost = 4;
  std::vector<LabelCount> counts = label_counts(result);
  std::erase_if(counts, [](const LabelCount& count) { return phrase_for(count.label) == nullptr; });
  if (counts.empty()) return fmt::format("None of the {} heads meets a rule for a label.", result.heads.size());
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, counts.size()); ++i) {
    const LabelCount& count = counts[i];
    const Phrase& phrase = *phrase_for(count.label);
    out +=
        i == 0 ? fmt::format("{} of {} heads ", count.heads, result.heads.size()) : fmt::format("; {} ", count.heads);
    out += count.heads == 1 ? phrase.one : phrase.many;
    out += with_first_key(result, count);
  }
  return out + ".";
}

std::string what_it_sees(const LayerDescription& layer) {
  if (layer.kind == Kind::cross) return "the other text";
  if (layer.kind == Kind::encoder)
    return layer.window ? fmt::format("{} tokens around a token", *layer.window) : "everything on both sides";
  return layer.window ? fmt::format("the last {} tokens", *layer.window) : "everything";
}

struct View {
  std::string what;
  std::vector<std::size_t> layers;
};

// Views of few layers first; among equals, the one that sees everything.
std::vector<View> views(const Result& result) {
  std::vector<View> out;
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const std::string what = what_it_sees(result.layers[i].description);
    auto found = std::ranges::find(out, what, &View::what);
    if (found == out.end()) found = out.insert(out.end(), {what, {}});
    found->layers.push_back(i);
  }
  std::ranges::stable_sort(out, {}, [](const View& view) { return std::pair(view.layers.size(), view.what.size()); });
  return out;
}

std::string layers_sentence(const Result& result) {
  const std::vector<View> all = views(result);
  if (all.empty()) return "";
  if (all.size() == 1)
    return fmt::format("{} {}.", result.layers.size() == 1 ? "Its only layer sees" : "Every layer sees", all[0].what);
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_one = all[i].layers.size() == 1;
    if (i + 1 == all.size()) {
      out += fmt::format(", the other{} {}.", is_one ? "" : "s", all[i].what);
    } else {
      out += fmt::format("{}{} {}{} {}", i == 0 ? "Layer" : ", layer", is_one ? "" : "s", list_of(all[i].layers),
                         i > 0    ? ""
                         : is_one ? " sees"
                                  : " see",
                         all[i].what);
    }
  }
  return out;
}

std::string lengths_sentence(const Result& result) {
  const LengthResult &first = result.lengths.front(), &last = result.lengths.back();
  const double slope = mean_entropy_slope(result);
  std::string out = fmt::format("From {} to {} tokens ", first.length, last.length);
  if (std::isfinite(first.loss) && std::isfinite(last.loss))
    out += fmt::format("the loss {} and ", goes_from_to(first.loss, last.loss, 2));
  if (!std::isfinite(slope)) return out + "the entropy was not measured.";
  return out + fmt::format("the mean entropy {} by {:.2f} nats per factor e.", slope < 0 ? "falls" : "grows",
                           std::abs(slope));
}

std::string entropy_sentence(const Result& result) {
  const double all = mean_entropy(result);
  if (!std::isfinite(all)) return "";
  std::size_t least = 0, most = 0;
  std::vector<double> by_layer;
  for (std::size_t layer = 0; layer < result.layers.size(); ++layer) {
    by_layer.push_back(mean_entropy(result, layer));
    if (by_layer[layer] < by_layer[least]) least = layer;
    if (by_layer[layer] > by_layer[most]) most = layer;
  }
  std::string out =
      fmt::format("The mean entropy is {:.2f} nats, that of {:.3g} keys of equal weight", all, std::exp(all));
  if (least != most)
    out += fmt::format("; it is lowest in layer {} ({:.2f}) and highest in layer {} ({:.2f})", least, by_layer[least],
                       most, by_layer[most]);
  return out + ".";
}

std::string in_words(std::int64_t count) {
  const auto x = static_cast<double>(count);
  if (x >= 1e9) return fmt::format("{:.3g} billion", x / 1e9);
  if (x >= 1e6) return fmt::format("{:.3g} million", x / 1e6);
  return std::to_string(count);
}

}  // namespace

double mean_entropy(const Result& result, std::optional<std::size_t> layer) {
  double sum = 0, count = 0;
  for (const HeadResult& head : result.heads) {
    const auto found = head.statistics.find("entropy");
    if (found == head.statistics.end() || !std::isfinite(found->second.mean) || (layer && *layer != head.layer))
      continue;
    sum += found->second.mean, ++count;
  }
  return count > 0 ? sum / count : kNotMeasured;
}

double mean_entropy_at(const Result& result, std::size_t length) {
  double sum = 0, count = 0;
  for (const HeadResult& head : result.heads)
    if (length < head.length_entropies.size() && std::isfinite(head.length_entropies[length]))
      sum += head.length_entropies[length], ++count;
  return count > 0 ? sum / count : kNotMeasured;
}

double mean_entropy_slope(const Result& result) {
  std::vector<double> entropies;
  for (std::size_t i = 0; i < result.lengths.size(); ++i) entropies.push_back(mean_entropy_at(result, i));
  return entropy_slope(result.lengths, entropies);
}

std::string goes_from_to(double first, double second, int digits) {
  const std::string from = fmt::format("{:.{}f}", first, digits), to = fmt::format("{:.{}f}", second, digits);
  return from == to ? "stays at " + from : "goes from " + from + " to " + to;
}

const char* read_unit(const Result& result) {
  return result.picture && result.tokens_of_window.empty() ? "patches" : "tokens";
}

std::vector<Fact> facts(const Result& result) {
  std::vector<Fact> out;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) out.push_back({label, text});
  };
  add("family", result.family);
  if (result.parameters > 0) add("parameters", in_words(result.parameters));
  add("scale law", result.scale);
  if (result.map != "softmax") add("map", result.map);
  add("layers × heads", fmt::format("{} × {}", result.layers.size(),
                                    result.layers.empty() ? 0 : result.layers.front().description.heads));
  if (result.trained_length > 0) add("trained at", fmt::format("{} tokens", result.trained_length));
  add("read", fmt::format("{} {}, {} window{} of {}", result.tokens, read_unit(result), result.windows,
                          result.windows == 1 ? "" : "s", result.length));
  if (result.texts.size() == 1) add("text", result.texts.front());
  if (result.texts.size() > 1) add("texts", std::to_string(result.texts.size()));
  if (result.loss && std::isfinite(result.loss->mean)) {
    const double loss = result.loss->mean;
    add("loss", result.loss->deviation > 0 ? fmt::format("{:.3f} ± {:.3f} nats", loss, result.loss->deviation)
                                           : fmt::format("{:.3f} nats", loss));
    add("perplexity", fmt::format("{:.2f}", std::exp(loss)));
  }
  return out;
}

std::vector<std::string> sentences(const Result& result) {
  std::vector<std::string> out = {labels_sentence(result), layers_sentence(result),
                                  result.lengths.size() > 1 ? lengths_sentence(result) : entropy_sentence(result)};
  std::erase(out, "");
  return out;
}

}  // namespace isentropic::scan
