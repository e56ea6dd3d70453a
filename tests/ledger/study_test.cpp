// Stored studies: what a file must contain, and how the ledger shows a study or the lack of one.
#include "ledger/study.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "ledger/present.hpp"

namespace isentropic::ledger {
namespace {

const nlohmann::json kStudy = {
    {"claim", "999-1"},
    {"finding", "it falls"},
    {"commands", {"isentropic plane -o out"}},
    {"machine", "one core"},
    {"date", "2026-11-18"},
    {"seeds", 3},
    {"figures", {{{"name", "fall"}, {"value", 0.25}, {"error", 0.01}}, {{"name", "end"}, {"value", 2}}}}};

std::string listed(nlohmann::json study) { return nlohmann::json::array({std::move(study)}).dump(); }

TEST(Studies, AreReadAsTheyAreWritten) {
  const std::vector<StoredStudy> found = parse_studies(listed(kStudy));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].claim, "999-1");
  EXPECT_EQ(found[0].commands, std::vector<std::string>{"isentropic plane -o out"});
  EXPECT_EQ(found[0].seeds, 3);
  ASSERT_EQ(found[0].figures.size(), 2u);
  EXPECT_EQ(text(found[0].figures[0]), "0.25 ± 0.01");
  EXPECT_EQ(text(found[0].figures[1]), "2");
  EXPECT_TRUE(parse_studies("[]").empty());
}

void expect_error(const std::string& text, const std::string& message) {
  try {
    parse_studies(text);
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Studies, SayWhatIsWrongInThem) {
  expect_error("{}", "a list of studies");
  expect_error("[", "a list of studies");
  for (const auto& [field, value] : kStudy.items()) {
    nlohmann::json without = kStudy;
    without.erase(field);
    expect_error(listed(without), field == "claim" ? "study of no claim: claim is missing" : field + " is missing");
    nlohmann::json other = kStudy;
    other[field] = nlohmann::json::object();
    expect_error(listed(other), field + " is {}");
  }
  const auto changed = [](const char* field, nlohmann::json value) {
    nlohmann::json out = kStudy;
    out[field] = std::move(value);
    return listed(out);
  };
  expect_error(changed("date", "18.11.2026"), "date is \"18.11.2026\"; expected a date such as");
  expect_error(changed("seeds", 0), "seeds is 0; expected an integer from 1");
  expect_error(changed("commands", {"python x.py"}), "texts that begin with isentropic");
  expect_error(changed("figures", nlohmann::json::array()), "figures is []");
  expect_error(changed("figures", {{{"name", "x"}, {"value", "1"}}}), "value is \"1\"; expected a number");
  expect_error(changed("remark", "x"), "with a field remark");
}

TEST(Studies, BelongToClaimsAboutTrainedNetworks) {
  for (const StoredStudy& study : stored_studies()) {
    const auto claim = std::ranges::find(all_claims(), study.claim, &Claim::id);
    ASSERT_NE(claim, all_claims().end()) << study.claim;
    EXPECT_EQ(claim->standing, Standing::study) << study.claim;
    EXPECT_EQ(std::ranges::count(stored_studies(), study.claim, &StoredStudy::claim), 1) << study.claim;
  }
  for (const Claim& claim : all_claims()) {
    if (claim.standing == Standing::study) {
      EXPECT_NE(stored_study_of(claim.id), nullptr) << claim.id;
    }
  }
}

TEST(Studies, AreShownInEveryForm) {
  const std::vector<Outcome> outcomes = run_claims(claims_with({"000-10.4.7-txt2"}), {.threads = 1});
  const StoredStudy& study = *stored_study_of("000-10.4.7-txt2");
  EXPECT_FALSE(outcomes[0].checked);
  EXPECT_STREQ(standing_of(outcomes[0]), "stored");
  EXPECT_NE(line(outcomes[0]).find(study.finding), std::string::npos);
  EXPECT_NE(line(outcomes[0]).find(study.date), std::string::npos);
  EXPECT_NE(details(outcomes[0]).find(study.commands.back()), std::string::npos);
  EXPECT_NE(details(outcomes[0]).find(study.figures.back().name), std::string::npos);
  const auto document = json(outcomes, {});
  EXPECT_EQ(document["stored"], 1);
  EXPECT_EQ(document["claims"][0]["passed"], nullptr);
  EXPECT_EQ(document["claims"][0]["study"]["figures"].size(), study.figures.size());
  EXPECT_EQ(parse_studies(listed(document["claims"][0]["study"])).size(), 1u);  // round-trips
  EXPECT_NE(page(outcomes, {}).find(study.machine), std::string::npos);
}

void judge(Check& check) { check.near("x", 1, 1, 0); }

TEST(Studies, AreCheckedInTheThoroughTierAlone) {
  const Claim claim = study("001-999", "statement", "use", judge);
  EXPECT_FALSE(run_claims({claim}, {.threads = 1})[0].checked);
  const Outcome thorough = run_claims({claim}, {.effort = Effort::thorough, .threads = 1})[0];
  EXPECT_TRUE(thorough.checked);
  EXPECT_STREQ(standing_of(thorough), "passed");
}

TEST(Studies, WithoutAStoredOneTheClaimIsPending) {
  const Claim claim = study("001-999", "statement", "use", judge);
  const Outcome outcome = run_claims({claim}, {.threads = 1})[0];
  EXPECT_STREQ(standing_of(outcome), "pending");
  EXPECT_EQ(tally({outcome}).pending, 1);
  EXPECT_NE(line(outcome).find("no stored study yet"), std::string::npos);
  EXPECT_EQ(line(outcome).find("PyTorch"), std::string::npos);
  EXPECT_EQ(json({outcome}, {})["claims"][0]["study"], nullptr);
  EXPECT_NE(page({outcome}, {}).find("no stored study yet"), std::string::npos);
  const Outcome networks =
      run_claims({study_on_libtorch("001-999", "s", "u")}, {.effort = Effort::thorough, .threads = 1})[0];
  EXPECT_STREQ(standing_of(networks), "pending");
  EXPECT_NE(line(networks).find("a build with PyTorch"), std::string::npos);
}

TEST(Studies, NetworkChecksFindTheirClaims) {
  const std::vector<Claim> claims =
      with_network_checks(claims_with({"001-s19"}), {{"001-s19", judge}, {"001-s20", judge}});
  EXPECT_EQ(claims[0].check, &judge);
  EXPECT_THROW(with_network_checks({}, {{"001-s99", judge}}), Error);
  EXPECT_THROW(with_network_checks({}, {{"001-16", judge}}), Error);  // already has a check
}

}  // namespace
}  // namespace isentropic::ledger
