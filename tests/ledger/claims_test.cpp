// Every claim of the sources is present with its verdict, passes, and fails in its printed form.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "isentropic/error.hpp"
#include "ledger/present.hpp"

namespace isentropic::ledger {
namespace {

// claims.tsv next to this file: id and verdict of every claim.
std::map<std::string, std::string> listed_claims() {
  std::map<std::string, std::string> out;
  std::ifstream file(ISENTROPIC_CLAIMS);
  for (std::string row; std::getline(file, row);) {
    const std::size_t tab = row.find('\t');
    out[row.substr(0, tab)] = row.substr(tab + 1);
  }
  return out;
}

TEST(Claims, AllAreThereWithTheirVerdicts) {
  const auto listed = listed_claims();
  ASSERT_GT(listed.size(), 300u);
  std::map<std::string, std::string> found;
  for (const Claim& claim : all_claims()) {
    EXPECT_TRUE(found.emplace(claim.id, name(claim.verdict)).second) << claim.id << " is there twice";
  }
  for (const auto& [id, verdict] : listed) EXPECT_EQ(found[id], verdict) << id;
  for (const auto& [id, verdict] : found) EXPECT_TRUE(listed.contains(id)) << id << " is not in claims.tsv";
}

TEST(Claims, OnlySomeMayLackAComputation) {
  for (const Claim& claim : all_claims()) {
    EXPECT_FALSE(claim.statement.empty()) << claim.id;
    EXPECT_EQ(claim.statement.find('\n'), std::string::npos) << claim.id;
    const bool trains = claim.standing == Standing::study;
    EXPECT_EQ(claim.check != nullptr, claim.standing == Standing::computed || (trains && !claim.on_libtorch))
        << claim.id;
    EXPECT_TRUE(trains || !claim.on_libtorch) << claim.id;
    if (claim.fails_as_printed()) {
      EXPECT_FALSE(claim.use.empty()) << claim.id << " says neither what holds instead nor under which condition";
      EXPECT_NE(claim.check, nullptr) << claim.id;
    }
    // The behaviour of small networks gets no verdict that sounds like evidence about all networks.
    if (trains) {
      EXPECT_EQ(claim.verdict, Verdict::not_checked) << claim.id;
    }
    if (claim.standing == Standing::listed) {
      EXPECT_NE(claim.verdict, Verdict::holds) << claim.id;
    }
  }
}

TEST(Claims, PartsOfCompoundIds) {
  EXPECT_EQ(parts_of("001-19,20"), (std::vector<std::string>{"001-19", "001-20"}));
  EXPECT_EQ(parts_of("003-P2, 4-7, 9"),
            (std::vector<std::string>{"003-P2", "003-4", "003-5", "003-6", "003-7", "003-9"}));
  EXPECT_EQ(parts_of("001-63..66").size(), 4u);
  EXPECT_EQ(parts_of("000-10.4.6-txt1"), (std::vector<std::string>{"000-10.4.6-txt1"}));
}

TEST(Claims, PrefixesSelect) {
  for (const Claim& claim : claims_with({"004"})) EXPECT_TRUE(claim.id.starts_with("004"));
  ASSERT_EQ(claims_with({"001-20"}).size(), 1u);
  EXPECT_EQ(claims_with({"001-20"})[0].id, "001-19,20");
  EXPECT_EQ(claims_with({}).size(), all_claims().size());
  EXPECT_THROW(claims_with({"001", "999"}), Error);
}

class ClaimsOfSource : public testing::TestWithParam<const char*> {};

TEST_P(ClaimsOfSource, Passes) {
  for (const Outcome& outcome : run_claims(claims_with({GetParam()}), {.threads = 1}))
    EXPECT_TRUE(outcome.passed()) << line(outcome) << "\n" << details(outcome);
}

// With the printed formula in place of the one under test, the check must fail.
TEST_P(ClaimsOfSource, ChecksNoticeThePrintedForm) {
  for (const Claim& claim : claims_with({GetParam()})) {
    if (claim.check == nullptr || claim.verdict != Verdict::corrected) continue;
    EXPECT_TRUE(any_fails(run_check(claim, Reading::printed, {.seed = 2}).comparisons())) << claim.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Ledger, ClaimsOfSource, testing::Values("000", "001", "002", "003", "004"));

}  // namespace
}  // namespace isentropic::ledger
