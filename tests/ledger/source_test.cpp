// A claim's location in its source.
#include "ledger/source.hpp"

#include <gtest/gtest.h>

#include "isentropic/error.hpp"

namespace isentropic::ledger {
namespace {

std::string place(const std::string& id) { return place_of(definition(id, "a statement")); }

TEST(Source, EquationsAreFoundInTheirSections) {
  EXPECT_EQ(place("001-16"), "section 3, equation (16)");
  EXPECT_EQ(place("001-50b"), "section 10, equation (50)");
  EXPECT_EQ(place("001-3,4,5"), "section 2, equations (3), (4), (5)");
  EXPECT_EQ(place("001-63..66"), "section 14, equations (63), (64), (65), (66)");
  EXPECT_EQ(place("001-28 + 4 properties"), "section 6, equation (28)");
  EXPECT_EQ(place("001-51, s11"), "section 11, equation (51)");
  EXPECT_EQ(place("000-10.4.19b"), "section 10.4.6, equation (10.4.19)");
  EXPECT_EQ(place("002-4.4.23/24"), "section 4.4.3, equations (4.4.23/24)");
  EXPECT_EQ(place("002-4.4.28-30"), "section 4.4.4, equations (4.4.28-30)");
  EXPECT_EQ(place("004-9d"), "section “General linear”, equation (9)");
}

TEST(Source, OtherPlacesAreNamed) {
  EXPECT_EQ(place("001-s13b"), "section 13");
  EXPECT_EQ(place("003-s28-Q2"), "section 28, question 2");
  EXPECT_EQ(place("001-P4b"), "post, formula 4");
  EXPECT_EQ(place("003-Pa, 25"), "post, opening formula; section 9, equation (25)");
  EXPECT_EQ(place("003-P2, 4-7, 9"),
            "post, formula 2; section 3, equations (4), (5), (6), (7); section 4, equation (9)");
  EXPECT_EQ(place("000-thm10.4.3a"), "theorem 10.4.3");
  EXPECT_EQ(place("000-def10.4.12b"), "definition 10.4.12");
  EXPECT_EQ(place("000-10.4.6-txt1"), "section 10.4.6");
  EXPECT_EQ(place("002-4.4.3-tab"), "section 4.4.3, table");
  EXPECT_EQ(place("002-4.4.5c"), "section 4.4.5");
  EXPECT_EQ(place("002-4.4.5/6"), "section 4.4.1, equations (4.4.5/6)");
  EXPECT_EQ(place("002-4.4.6"), "section 4.4.6");
  EXPECT_EQ(place("004-0"), "section “Introduction”");
  EXPECT_EQ(place("004-13"), "section “Conclusion”");
}

TEST(Source, EveryClaimHasOne) {
  for (const Claim& claim : all_claims()) {
    EXPECT_NO_THROW(EXPECT_FALSE(place_of(claim).empty())) << claim.id;
    EXPECT_FALSE(source_of(claim).text.empty()) << claim.id;
  }
  EXPECT_THROW(source_of(definition("999-1", "a statement")), Error);
}

}  // namespace
}  // namespace isentropic::ledger
