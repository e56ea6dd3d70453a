// Renders a page: its parts as JSON, in a document that draws them.
#include "report/page.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/chart.hpp"
#include "report/document.hpp"
#include "report/embedded.hpp"

namespace isentropic::report {
namespace {

using nlohmann::ordered_json;

ordered_json number(double x) { return std::isfinite(x) ? ordered_json(x) : ordered_json(nullptr); }

ordered_json numbers(const std::vector<double>& values) {
  ordered_json out = ordered_json::array();
  for (double x : values) out.push_back(number(x));
  return out;
}

const char* name(PlotScale scale) { return scale == PlotScale::log ? "log" : "linear"; }

const char* name(CurveStyle style) {
  switch (style) {
    case CurveStyle::measured:
      return "measured";
    case CurveStyle::formula:
      return "formula";
    case CurveStyle::points:
      return "points";
    case CurveStyle::bound:
      break;
  }
  return "bound";
}

const char* name(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::bad:
      return "bad";
    case Tone::changed:
      return "changed";
    case Tone::limited:
      return "limited";
    case Tone::quiet:
      break;
  }
  return "quiet";
}

ordered_json json(const Prose& x) { return {{"kind", "prose"}, {"heading", x.heading}, {"paragraphs", x.paragraphs}}; }

ordered_json json(const DataTable& x) {
  return {{"kind", "table"}, {"title", x.title}, {"columns", x.columns}, {"rows", x.rows}};
}

ordered_json json(const Plot& x) {
  ordered_json curves = ordered_json::array();
  for (const PlotCurve& curve : x.curves)
    curves.push_back({{"label", curve.label},
                      {"style", name(curve.style)},
                      {"colour", curve.colour ? ordered_json(*curve.colour) : ordered_json(nullptr)},
                      {"x", numbers(curve.x)},
                      {"y", numbers(curve.y)}});
  return {{"kind", "plot"},       {"title", x.title},           {"x_label", x.x_label},
          {"y_label", x.y_label}, {"x_scale", name(x.x_scale)}, {"y_scale", name(x.y_scale)},
          {"curves", curves}};
}

ordered_json rows_of(const std::vector<std::vector<double>>& rows) {
  ordered_json out = ordered_json::array();
  for (const auto& row : rows) out.push_back(numbers(row));
  return out;
}

ordered_json json(const HeatMap& x) {
  return {{"kind", "heat_map"},   {"title", x.title},         {"x_label", x.x_label},
          {"y_label", x.y_label}, {"rows", rows_of(x.rows)},  {"low", x.low},
          {"high", x.high},       {"row_names", x.row_names}, {"column_names", x.column_names}};
}

ordered_json json(const Row& x) {
  ordered_json parts = ordered_json::array();
  for (const auto& part : x.parts) parts.push_back(std::visit([](const auto& inner) { return json(inner); }, part));
  return {{"kind", "row"}, {"parts", parts}};
}

ordered_json json(const Frames& x) {
  ordered_json planes = ordered_json::array();
  for (const Frames::Plane& plane : x.planes) {
    ordered_json series = ordered_json::array();
    for (const Frames::Series& points : plane.series)
      series.push_back({{"label", points.label}, {"x", rows_of(points.x)}, {"y", rows_of(points.y)}});
    planes.push_back({{"title", plane.title}, {"series", series}});
  }
  return {{"kind", "frames"},     {"title", x.title}, {"x_label", x.x_label},
          {"y_label", x.y_label}, {"names", x.names}, {"planes", planes}};
}

ordered_json json(const Card& x) {
  ordered_json facts = ordered_json::array(), plots = ordered_json::array();
  for (const auto& [label, text] : x.facts) facts.push_back({label, text});
  for (const Plot& plot : x.plots) plots.push_back(json(plot));
  return {{"title", x.title},   {"mark", x.mark},     {"tone", name(x.tone)},
          {"text", x.text},     {"origin", x.origin}, {"facts", facts},
          {"facets", x.facets}, {"plots", plots},     {"numbers", json(x.numbers)}};
}

ordered_json json(const CardList& x) {
  ordered_json cards = ordered_json::array();
  for (const Card& card : x.cards) cards.push_back(json(card));
  return {{"kind", "cards"}, {"facets", x.facets}, {"cards", cards}};
}

ordered_json json(const Counts& x) {
  ordered_json counts = ordered_json::array();
  for (const Counts::Count& count : x.counts)
    counts.push_back({{"facet", count.facet},
                      {"value", count.value},
                      {"number", count.number},
                      {"tone", name(count.tone)},
                      {"meaning", count.meaning}});
  return {{"kind", "counts"}, {"counts", counts}};
}

ordered_json json(const Glossary& x) {
  ordered_json entries = ordered_json::array();
  for (const Glossary::Entry& entry : x.entries)
    entries.push_back({{"label", entry.label}, {"text", entry.text}, {"address", entry.address}});
  return {{"kind", "glossary"}, {"heading", x.heading}, {"entries", entries}};
}

}  // namespace

std::string html(const Page& page) {
  ordered_json parts = ordered_json::array();
  for (const Part& part : page.parts) parts.push_back(std::visit([](const auto& x) { return json(x); }, part));
  Document document{.title = page.title, .data_id = "parts", .scripts = {page_script()}};
  document.body = "<header>\n<h1>" + escape(page.title) + "</h1>\n<p class=\"subtitle\">" + escape(page.subtitle) +
                  "</p>\n</header>\n<main></main>\n";
  document.data = parts.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return html(document);
}

}  // namespace isentropic::report
