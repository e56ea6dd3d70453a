// A self-contained HTML file: data, style, script and D3 are inside, so it opens without a network, light or dark by
// the reader's preference, on paper and on a phone.
//
// A page is a list of parts: prose, sortable tables, curve plots, heat maps, rows of these, animated points, card lists
// with search and filters, counts of these cards, and glossaries. The parts are passed as JSON; web/page.js draws them.
// Formulas in prose and on cards are written in ASCII, "e^{-gamma^2/2}" or "1/sqrt d", and rendered as MathML
// (web/formulas.js).
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

// Cells are text; columns of numbers only are right-aligned and sorted by value. Long tables can be filtered.
struct DataTable {
  std::string title = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

// The colour range is fixed from low to high, independent of the data, so that maps can be compared.
struct HeatMap {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<std::vector<double>> rows = {};  // non-finite values are left empty
  double low = 0, high = 1;
  std::vector<std::string> row_names = {}, column_names = {};  // empty: numbered from 0
};

// Side by side if there is room, otherwise stacked.
struct Row {
  std::vector<std::variant<Plot, HeatMap, DataTable>> parts = {};
};

// Animated points: planes side by side under one slider, with a button that plays all frames.
struct Frames {
  struct Series {
    std::string label = {};
    std::vector<std::vector<double>> x = {}, y = {};  // by frame, then point; the mean point leaves a trail
  };
  struct Plane {
    std::string title = {};
    std::vector<Series> series = {};  // the same label has the same colour in all planes
  };
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<std::string> names = {};  // of the frames: "epoch 10"
  std::vector<Plane> planes = {};
};

// changed: right only in another form. limited: right under a condition.
enum class Tone : unsigned char { good, bad, changed, limited, quiet };

// One entry of a list: a line with mark and title, and below it text, numbers and small plots.
struct Card {
  std::string title = {}, mark = {};
  Tone tone = Tone::quiet;
  std::string text = {};
  std::string origin = {};                                      // its source: "section 3, equation (16)"
  std::vector<std::pair<std::string, std::string>> facts = {};  // "use instead": "..."
  DataTable numbers = {};
  std::vector<Plot> plots = {};
  std::vector<std::string> facets = {};  // one value per facet of the list
};

struct CardList {
  std::vector<std::string> facets = {};  // what the list can be filtered by: "source", "verdict"
  std::vector<Card> cards = {};
};

// Number of cards in a list below that have a given value of one of its facets; a click filters the list by it.
struct Counts {
  struct Count {
    std::string facet = {}, value = {};  // "verdict", "corrected"
    std::size_t number = 0;
    Tone tone = Tone::quiet;
    std::string meaning = {};
  };
  std::vector<Count> counts = {};
};

// Terms, laws, sources: a label and its meaning.
struct Glossary {
  struct Entry {
    std::string label = {}, text = {};
    std::string address = {};  // of a page to open; may be empty
  };
  std::string heading = {};
  std::vector<Entry> entries = {};
};

using Part = std::variant<Prose, DataTable, Plot, HeatMap, Row, Frames, Counts, CardList, Glossary>;

struct Page {
  std::string title = {}, subtitle = {};
  std::vector<Part> parts = {};
};

std::string html(const Page& page);

}  // namespace isentropic::report
