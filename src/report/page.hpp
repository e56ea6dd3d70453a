// One HTML file that holds everything it shows: data, style, script and D3 are inside, so it opens without a network,
// light or dark by the reader's preference, on paper and on a phone.
//
// A page is a list of parts: prose, tables that sort, curve plots, heat maps, rows of them, and lists of cards that can
// be searched and filtered. The parts travel as JSON; web/page.js draws them.
//
//   Page page{.title = "...", .subtitle = "..."};
//   page.parts.push_back(Prose{"Heading", {"A paragraph."}});
//   page.parts.push_back(plot);
//   write_file("--html", path, html(page));
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/plot.hpp"

namespace isentropic::report {

struct Prose {
  std::string heading = {};  // may be empty
  std::vector<std::string> paragraphs = {};
};

// Cells are text; columns whose cells are all numbers are set to the right and sort by value. Long tables can be
// filtered.
struct DataTable {
  std::string title = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

// Colours run from low to high whatever the data, so that two maps can be compared.
struct HeatMap {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<std::vector<double>> rows = {};  // values that are not finite are left empty
  double low = 0, high = 1;
  std::vector<std::string> row_names = {}, column_names = {};  // empty: numbered from 0
};

// Side by side where there is room, below each other where there is not.
struct Row {
  std::vector<std::variant<Plot, HeatMap, DataTable>> parts = {};
};

// changed: right only in another form. limited: right under a condition.
enum class Tone : unsigned char { good, bad, changed, limited, quiet };

// One entry of a list: a line with mark and title, below it text, numbers and small plots.
struct Card {
  std::string title = {}, mark = {};
  Tone tone = Tone::quiet;
  std::string text = {};
  std::vector<std::pair<std::string, std::string>> facts = {};  // "use instead": "..."
  DataTable numbers = {};
  std::vector<Plot> plots = {};
  std::vector<std::string> facets = {};  // one value for each facet of the list
};

struct CardList {
  std::vector<std::string> facets = {};  // what the list can be filtered by: "source", "verdict"
  std::vector<Card> cards = {};
};

using Part = std::variant<Prose, DataTable, Plot, HeatMap, Row, CardList>;

struct Page {
  std::string title = {}, subtitle = {};
  std::vector<Part> parts = {};
};

std::string html(const Page& page);

}  // namespace isentropic::report
