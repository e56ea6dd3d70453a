// Writes the page's JSON. A number that was not measured is null.
#include "scan/page_data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scan/head_values.hpp"
#include "scan/packed_weights.hpp"
#include "scan/rounded.hpp"
#include "scan/summary.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 4;

// Row by row: half of a symmetric matrix suffices.
std::vector<double> above_diagonal(const std::vector<std::vector<double>>& matrix) {
  std::vector<double> out;
  for (std::size_t row = 0; row < matrix.size(); ++row)
    out.insert(out.end(), matrix[row].begin() + static_cast<std::ptrdiff_t>(row) + 1, matrix[row].end());
  return out;
}

// The text of page_tokens() that a layer's rows or keys correspond to; null if they are not tokens.
struct Axis {
  std::int64_t size = 0;
  Json text = nullptr;
};
Axis axis_of(const Result& result, std::int64_t known, bool is_written) {
  const auto tokens = std::ssize(is_written ? result.written_of_window : result.tokens_of_window);
  Axis out{known};
  if (known == 0) out.size = tokens > 0 ? tokens : result.length;  // a file from an earlier version
  if (tokens > 0 && tokens == out.size) out.text = is_written ? "written" : "read";
  return out;
}

Json layer_row(const Result& result, const LayerResult& layer) {
  const LayerDescription& about = layer.description;
  const Axis rows = axis_of(result, layer.rows, result.rows_are_written(about.kind));
  const Axis keys = axis_of(result, layer.keys, result.keys_are_written(about.kind));
  return {{"module", about.module},
          {"kind", name(about.kind)},
          {"rows", rows.size},
          {"row_text", rows.text},
          {"keys", keys.size},
          {"key_text", keys.text},
          {"heads", about.heads},
          {"head_width", about.head_width},
          {"window", about.window ? Json(*about.window) : Json(nullptr)},
          {"redundancy", rounded(layer.redundancy, kDigits)},
          {"residual_ratio", rounded(layer.residual_ratio, kDigits)},
          {"similarities", packed(above_diagonal(layer.similarities))}};
}

Json rules_json(const Result& result) {
  Json out = Json::array();
  for (const Rule& rule : rules()) {
    const auto found = std::ranges::find(result.null_rates, rule.label, &NullRate::label);
    out.push_back({{"label", rule.label},
                   {"meaning", rule.meaning},
                   {"quantity", rule.quantity},
                   {"threshold", rule.threshold},
                   {"at_least", rule.at_least},
                   {"shuffled", found == result.null_rates.end() ? Json(nullptr) : rounded(found->rate, kDigits)}});
  }
  return out;
}

Json terms_json(const std::vector<Term>& columns) {
  Json out = Json::array();
  for (const Term& column : columns)
    out.push_back({{"name", column.name},
                   {"title", column.title},
                   {"unit", column.unit},
                   {"meaning", column.meaning},
                   {"is_share", column.is_share},
                   {"is_heavy_tailed", column.is_heavy_tailed}});
  return out;
}

// The data of one result; a comparison has two.
Json one_result(const Result& result, const std::vector<Term>& columns, const std::vector<bool>& in_full) {
  Json out = Json::object();
  for (const char* list : {"facts", "layers", "lengths"}) out[list] = Json::array();
  for (const Fact& fact : facts(result)) out["facts"].push_back({fact.label, fact.text});
  out["rules"] = rules_json(result);
  for (const LayerResult& layer : result.layers) out["layers"].push_back(layer_row(result, layer));
  for (const LengthResult& length : result.lengths)
    out["lengths"].push_back({{"length", length.length}, {"loss", rounded(length.loss, 6)}});
  out["heads"] = page_heads(result, columns, in_full);
  out["tokens"] = page_tokens(result, in_full);
  out["loss"] = result.loss ? rounded(result.loss->mean, 6) : Json(nullptr);
  out["alternatives"] = alternatives_page_data(result);
  out["theory"] = theory_page_data(result);
  if (result.picture)
    out["picture"] = {
        {"source", result.picture->source}, {"rows", result.picture->rows}, {"columns", result.picture->columns}};
  return out;
}

Json whole_page(const Result& result, const std::vector<std::string>& sentences, const std::vector<Term>& columns,
                const std::vector<bool>& in_full) {
  Json out = one_result(result, columns, in_full);
  out["sentences"] = sentences;
  out["terms"] = terms_json(columns);
  out["definitions"] = Json::array();
  for (const Definition& entry : definitions()) out["definitions"].push_back({entry.name, entry.meaning});
  return out;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string page_data(const Result& result, const PageOptions& options) {
  return text_of(whole_page(result, sentences(result), terms_of({&result}), shown_in_full(result, options)));
}

std::string page_data(const Comparison& comparison, const PageOptions& options) {
  const std::vector<Term> columns = terms_of({&comparison.first, &comparison.second});
  const std::vector<bool> in_full = shown_in_full(comparison, options);
  Json out = whole_page(comparison.first, sentences(comparison), columns, in_full);
  out["names"] = {comparison.first_name, comparison.second_name};
  out["against"] = one_result(comparison.second, columns, in_full);
  out["changed"] = Json::array();  // indices of heads, and by how much
  for (const std::size_t index : comparison.changed)
    out["changed"].push_back({index, rounded(comparison.heads[index].change, 3)});
  return text_of(out);
}

}  // namespace isentropic::scan
