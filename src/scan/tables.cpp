// Writes the tables.
#include "scan/tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace isentropic::scan {
namespace {

// Statistics that some head has: not every layer has all of them.
std::set<std::string> statistics_of(const Result& result) {
  std::set<std::string> out;
  for (const HeadResult& head : result.heads)
    for (const auto& [name, value] : head.statistics) out.insert(name);
  return out;
}

std::string mean_of(const HeadResult& head, const std::string& statistic) {
  const auto found = head.statistics.find(statistic);
  if (found == head.statistics.end() || !std::isfinite(found->second.mean)) return "";
  return fmt::format("{:.6g}", found->second.mean);
}

// A module's name may hold anything.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

std::string tsv(const Result& result) {
  const std::set<std::string> statistics = statistics_of(result);
  std::string out = "layer\thead\tmodule\tkind\twindow\tlabels";
  for (const std::string& name : statistics) out.append("\t").append(name);
  for (const HeadResult& head : result.heads) {
    const LayerDescription& layer = result.layers[head.layer].description;
    std::string labels;
    for (const Label& label : head.labels) labels += (labels.empty() ? "" : ",") + label.name;
    out += fmt::format("\n{}\t{}\t{}\t{}\t{}\t{}", head.layer, head.head, cell(layer.module), name(layer.kind),
                       layer.window ? std::to_string(*layer.window) : "", labels);
    for (const std::string& name : statistics) out.append("\t").append(mean_of(head, name));
  }
  return out + "\n";
}

std::string retrieval_scores(const Result& result) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const HeadResult& head : result.heads) {
    const auto found = head.statistics.find("retrieval_score");
    if (found == head.statistics.end()) continue;
    out[fmt::format("{}-{}", head.layer, head.head)] = {found->second.mean};
  }
  return out.dump() + "\n";
}

}  // namespace isentropic::scan
