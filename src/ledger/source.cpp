// The list of source texts, and the sections that contain their equations.
#include "ledger/source.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "isentropic/error.hpp"

namespace isentropic::ledger {
namespace {

// The sections of a text by the number of their first equation; a chapter numbers its equations as "10.4.".
struct Layout {
  std::string chapter;
  std::map<int, std::string> sections;
};

const Layout& layout_of(const std::string& source) {
  static const std::map<std::string, Layout> layouts = {
      {"000", {"10.4.", {{1, "10.4.1"}, {6, "10.4.2"}, {9, "10.4.3"}, {11, "10.4.4"}, {15, "10.4.5"}, {18, "10.4.6"}}}},
      {"001", {"", {{1, "1"},   {3, "2"},   {10, "3"},  {19, "4"},  {24, "5"},  {28, "6"},  {32, "7"},
                    {35, "8"},  {38, "9"},  {46, "10"}, {51, "11"}, {52, "12"}, {57, "13"}, {63, "14"},
                    {68, "15"}, {69, "16"}, {72, "17"}, {74, "18"}, {76, "20"}, {77, "21"}, {79, "22"}}}},
      {"002", {"4.4.", {{1, "4.4.1"}, {11, "4.4.2"}, {19, "4.4.3"}, {25, "4.4.4"}}}},
      {"003", {"", {{1, "1"},   {2, "2"},   {4, "3"},   {8, "4"},   {12, "5"},  {14, "6"},  {17, "7"},
                    {20, "8"},  {25, "9"},  {26, "10"}, {33, "11"}, {38, "12"}, {43, "16"}, {46, "17"},
                    {47, "18"}, {49, "19"}, {52, "20"}, {54, "21"}, {57, "23"}, {61, "24"}, {62, "25"}}}},
      {"004",
       {"",
        {{0, "“Introduction”"},
         {1, "“Degree of sparsity”"},
         {2, "“Simplified form”"},
         {5, "“Two examples”"},
         {7, "“Simplest linear”"},
         {8, "“General linear”"},
         {10, "“Linear decay”"},
         {12, "“Conclusion”"}}}},
  };
  return layouts.at(source);
}

// The leading digits and dots: "10.4.5b" -> "10.4.5".
std::string leading_number(const std::string& text) { return text.substr(0, text.find_first_not_of("0123456789.")); }

std::string section_of(const Layout& layout, int equation) {
  return "section " + std::prev(layout.sections.upper_bound(equation))->second;
}

// In 002 the ids 4.4.5a ... 4.4.5i and 4.4.6 are sections, not equations.
bool is_a_section(const std::string& id) {
  return id == "002-4.4.6" || (id.starts_with("002-4.4.5") && id.size() == 10);
}

// "16b" -> "section 3, equation (16)"; "23/24" of a chapter stands for both.
std::string equation_place(const Layout& layout, const std::string& text) {
  const int first = std::stoi(text);
  std::string number = layout.chapter + text.substr(0, text.find_first_not_of("0123456789/-"));
  const bool outside = layout.sections.contains(0) && (first == 0 || first > 11);  // 004 has eleven equations
  if (outside) return section_of(layout, first);
  const bool several = number.find_first_of("/-") != std::string::npos;
  return fmt::format("{}, equation{} ({})", section_of(layout, first), several ? "s" : "", number);
}

std::string place_of_part(const std::string& source, const std::string& part) {
  const Layout& layout = layout_of(source);
  const std::size_t question = part.find("-Q"), text = part.find("-txt"), table = part.find("-tab");
  if (part.starts_with("def")) return "definition " + leading_number(part.substr(3));
  if (part.starts_with("thm")) return "theorem " + leading_number(part.substr(3));
  if (part.starts_with("Pa")) return "post, opening formula";
  if (part.starts_with("P")) return "post, formula " + leading_number(part.substr(1));
  if (part.starts_with("s"))
    return "section " + leading_number(part.substr(1)) +
           (question == std::string::npos ? "" : ", question " + part.substr(question + 2));
  if (text != std::string::npos) return "section " + part.substr(0, text);
  if (table != std::string::npos) return "section " + part.substr(0, table) + ", table";
  return equation_place(layout, part.substr(layout.chapter.size()));
}

// "section 3, equation (4)" and "section 3, equation (5)" become "section 3, equations (4), (5)".
void add_place(std::string* places, const std::string& next) {
  const std::size_t equation = next.find(", equation (");
  const std::size_t last = places->rfind("section ");
  const std::string section = next.substr(0, equation);
  if (equation == std::string::npos && places->find(next + ",") != std::string::npos) return;
  if (equation == std::string::npos || last == std::string::npos || !places->substr(last).starts_with(section + ", ")) {
    *places += (places->empty() ? "" : "; ") + next;
    return;
  }
  if (const std::size_t one = places->find("equation (", last); one != std::string::npos) places->insert(one + 8, "s");
  *places += ", " + next.substr(next.find('('));
}

}  // namespace

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"000", "information in deep learning",
       "Section 10.4, “Information bottleneck and attention”, of a textbook, in Chinese.", ""},
      {"001", "robustness and entropy",
       "“Two findings about attention and softmax: robustness and information” (2023), a post in Chinese, and a "
       "derivation in 25 sections that accompanies it.",
       "https://spaces.ac.cn/archives/9593"},
      {"002", "contrast and InfoNCE", "Section 4.4, “InfoNCE and attention”, of a textbook, in Chinese.", ""},
      {"003", "entropy-invariant scale",
       "“A quick derivation of the entropy-invariant softmax” (2022), a post in Chinese, and a derivation in 30 "
       "sections that accompanies it.",
       "https://spaces.ac.cn/archives/9034"},
      {"004", "sparsity", "“Can attention really concentrate?”, a post in Chinese.",
       "https://spaces.ac.cn/archives/9889"},
  };
  return all;
}

const Source& source_of(const Claim& claim) {
  for (const Source& source : sources())
    if (claim.id.starts_with(source.id + "-")) return source;
  throw Error("claim", claim.id, "an id that starts with the number of a source, such as 001-");
}

std::string place_of(const Claim& claim) {
  const std::string source = source_of(claim).id;
  if (is_a_section(claim.id)) return "section " + leading_number(claim.id.substr(4));
  std::string out;
  for (const std::string& part : parts_of(claim.id)) add_place(&out, place_of_part(source, part.substr(4)));
  return out;
}

}  // namespace isentropic::ledger
