// Writes the tables.
#include "scan/tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "scan/comparison.hpp"

namespace isentropic::scan {
namespace {

// Statistics of any head: not every layer has all of them.
std::set<std::string> statistics_of(const Result& result) {
  std::set<std::string> out;
  for (const HeadResult& head : result.heads)
    for (const auto& [name, value] : head.statistics) out.insert(name);
  return out;
}

std::string number_cell(double x) { return std::isfinite(x) ? fmt::format("{:.6g}", x) : ""; }

std::string mean_of(const HeadResult& head, const std::string& statistic) {
  const auto found = head.statistics.find(statistic);
  return found == head.statistics.end() ? "" : number_cell(found->second.mean);
}

std::string labels_cell(const HeadResult& head) {
  std::string out;
  for (const Label& label : head.labels) out += (out.empty() ? "" : ",") + label.name;
  return out;
}

// Module names may contain anything.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

constexpr const char* kPlaceColumns = "layer\thead\tmodule\tkind\twindow";
std::string place_cells(const Result& result, const HeadResult& head) {
  const LayerDescription& layer = result.layers[head.layer].description;
  return fmt::format("{}\t{}\t{}\t{}\t{}", head.layer, head.head, cell(layer.module), name(layer.kind),
                     layer.window ? std::to_string(*layer.window) : "");
}

}  // namespace

std::string tsv(const Result& result) {
  const std::set<std::string> statistics = statistics_of(result);
  std::string out = std::string(kPlaceColumns) + "\tlabels";
  for (const std::string& name : statistics) out.append("\t").append(name);
  for (const HeadResult& head : result.heads) {
    out.append("\n").append(place_cells(result, head)).append("\t").append(labels_cell(head));
    for (const std::string& name : statistics) out.append("\t").append(mean_of(head, name));
  }
  return out + "\n";
}

std::string tsv(const Comparison& comparison) {
  std::set<std::string> statistics = statistics_of(comparison.first);
  statistics.merge(statistics_of(comparison.second));
  std::string out = std::string(kPlaceColumns) + "\tlabels\tlabels_second";
  for (const std::string& name : statistics) out += fmt::format("\t{0}\t{0}_second\t{0}_difference", name);
  for (std::size_t i = 0; i < comparison.heads.size(); ++i) {
    const HeadResult &first = comparison.first.heads[i], &second = comparison.second.heads[i];
    out += fmt::format("\n{}\t{}\t{}", place_cells(comparison.first, first), labels_cell(first), labels_cell(second));
    const auto& differences = comparison.heads[i].differences;
    for (const std::string& name : statistics) {
      const auto found = differences.find(name);
      out += fmt::format("\t{}\t{}\t{}", mean_of(first, name), mean_of(second, name),
                         found == differences.end() ? "" : number_cell(found->second));
    }
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
