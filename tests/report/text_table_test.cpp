// Text tables stay aligned whatever the characters.
#include "report/text_table.hpp"

#include <gtest/gtest.h>

namespace isentropic::report {
namespace {

TEST(TextTable, AlignsByCharactersNotBytes) {
  TextTable table({"law", "64", "1024"});
  table.add_row({"1/√d", "3.69", "6.45"});
  table.add_row({"log n/d", "4.03"});
  EXPECT_EQ(table.str(),
            "law         64   1024\n"
            "─────────────────────\n"
            "1/√d      3.69   6.45\n"
            "log n/d   4.03\n");
}

TEST(TextTable, RulesSpanTheWidth) {
  TextTable table({"a", "b"});
  table.add_row({"x", "1"});
  table.add_rule();
  table.add_row({"y", "2"});
  EXPECT_EQ(table.str(), "a   b\n─────\nx   1\n─────\ny   2\n");
}

TEST(TextTable, WidthCountsCodePoints) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("log₅₁₂ n/√d"), 11u);
}

}  // namespace
}  // namespace isentropic::report
