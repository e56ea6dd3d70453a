// Alternatives: means, the best one, JSON round-trips, terminal output, and the page's section in a browser.
#include "scan/alternatives.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "scan/page.hpp"
#include "scan/page_results.hpp"
#include "scan/terminal.hpp"
#include "support/browser.hpp"

namespace isentropic::scan {
namespace {

// Two scales, the second one solved, and a mask whose name is markup. Losses 3.5, 3.0 and 4; unchanged, 3.25.
Result with_alternatives() {
  Result result = planted_result();
  for (const char* text : {"log_n:kappa=0.9", "log_n:kappa=by head", "<img src=x>"}) {
    Alternative& one = result.alternatives.emplace_back();
    one.text = text;
    one.heads.resize(result.heads.size());
    for (std::size_t i = 0; i < one.heads.size(); ++i) {
      one.heads[i].entropy = 1.0 + static_cast<double>(i);
      one.heads[i].length_entropies = {1, 2, 3.0 + static_cast<double>(i)};
    }
    one.length_losses = {4, 4.25, 4.5};
  }
  result.alternatives[0].loss = 3.5, result.alternatives[1].loss = 3.0, result.alternatives[2].loss = 4;
  result.alternatives[1].parameter = "kappa", result.alternatives[1].solved_for = 256;
  result.alternatives[2].kind = AlternativeKind::mask;
  for (std::size_t i = 0; i < result.heads.size(); ++i) {
    result.alternatives[1].heads[i].parameter = 0.5 * static_cast<double>(i);
    result.alternatives[1].heads[i].target = 2;
    AlternativeHead& masked = result.alternatives[2].heads[i];
    masked.missing_mass = 0.1 * static_cast<double>(i), masked.error = 0.25, masked.error_bound = 1.5;
  }
  return result;
}

TEST(Alternatives, MeansAreOverTheHeadsThatWereMeasured) {
  Result result = with_alternatives();
  EXPECT_DOUBLE_EQ(mean_over_heads(result.alternatives[0], &AlternativeHead::entropy), 3.5);
  EXPECT_DOUBLE_EQ(mean_over_heads(result.alternatives[2], &AlternativeHead::missing_mass), 0.25);
  EXPECT_TRUE(std::isnan(mean_over_heads(result.alternatives[0], &AlternativeHead::missing_mass)));
  EXPECT_DOUBLE_EQ(mean_entropy_at(result.alternatives[0], 2), 5.5);
  EXPECT_TRUE(std::isnan(mean_entropy_at(result.alternatives[0], 3)));
  result.alternatives[0].heads[5].entropy = AlternativeHead::kNone;
  EXPECT_DOUBLE_EQ(mean_over_heads(result.alternatives[0], &AlternativeHead::entropy), 3);
}

TEST(Alternatives, TheBestHasTheLeastLossOfItsKind) {
  Result result = with_alternatives();
  EXPECT_EQ(best(result, AlternativeKind::scale), &result.alternatives[1]);
  EXPECT_EQ(best(result, AlternativeKind::mask), &result.alternatives[2]);
  EXPECT_EQ(best(result, AlternativeKind::map), nullptr);
  result.alternatives[1].loss = AlternativeHead::kNone;
  EXPECT_EQ(best(result, AlternativeKind::scale), &result.alternatives[0]);
}

TEST(Alternatives, JsonReadsBack) {
  const Result result = with_alternatives();
  const std::string json = to_json(result);
  const Result read = result_from_json(json, "a file");
  EXPECT_EQ(to_json(read), json);
  ASSERT_EQ(read.alternatives.size(), 3u);
  EXPECT_EQ(read.alternatives[1].parameter, "kappa");
  EXPECT_EQ(read.alternatives[1].solved_for, 256);
  EXPECT_EQ(read.alternatives[1].heads[3].parameter, 1.5);
  EXPECT_EQ(read.alternatives[2].kind, AlternativeKind::mask);
  EXPECT_EQ(read.alternatives[2].heads[1].error_bound, 1.5);
  EXPECT_TRUE(std::isnan(read.alternatives[0].heads[1].missing_mass));
  EXPECT_EQ(to_json(planted_result()).find("alternatives"), std::string::npos);
}

TEST(Alternatives, TerminalsNameTheBest) {
  const std::string text = terminal_text(with_alternatives());
  EXPECT_NE(text.find("best scale: log_n:kappa=by head, perplexity 20.09 (as trained: 25.79)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("leaves out 0.25 of the weight (error of a head's output 0.25, at most 1.5)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("at length 512: as it is loss 4.0000"), std::string::npos) << text;
  EXPECT_EQ(text.find("best map"), std::string::npos) << text;
  EXPECT_EQ(terminal_text(planted_result()).find("what if"), std::string::npos);
}

TEST(TheoryCheck, JsonReadsBackAndTerminalsCount) {
  Result result = planted_result();
  EXPECT_EQ(terminal_text(result).find("theory"), std::string::npos);
  EXPECT_EQ(to_json(result).find("theory"), std::string::npos);
  result.theory.noise = "gaussian:0.5";
  result.theory.heads.resize(result.heads.size());
  TheoryHead& first = result.theory.heads[0];
  first.spread = 1, first.freezing_point = 3, first.skewness = -0.4, first.excess_kurtosis = 0.9;
  first.entropy = 2, first.predicted_entropy = 2.05, first.noise_rms = 0.5, first.predicted_rms = 0.54;
  first.left_out_change = 0.01, first.left_out_bound = 0.02;
  TheoryHead& second = result.theory.heads[1];
  second = first;
  second.left_out_bound = 0.009;
  second.spread = 4, second.excess_kurtosis = -1.1, second.entropy = 1, second.noise_rms = 0.6;
  EXPECT_TRUE(first.is_spread() && first.has_gaussian_scores());
  EXPECT_FALSE(second.is_spread() || second.has_gaussian_scores());
  EXPECT_FALSE(result.theory.heads[2].is_spread() || result.theory.heads[2].has_gaussian_scores());
  const std::string json = to_json(result);
  const Result read = result_from_json(json, "a file");
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.theory.heads[1].spread, 4);
  EXPECT_TRUE(std::isnan(read.theory.heads[2].spread));
  const std::string text = terminal_text(read);
  EXPECT_NE(
      text.find("theory: scores of 1 of 6 heads are spread below the freezing point sqrt(2 log n), of 1 Gaussian; "
                "1 have an entropy within 0.1 nats of Gaussian scores\ntop 32: what 2 heads leave out moves their "
                "output by at most 1%; the bound says so of 1\nnoise gaussian:0.5: the fluctuation of 1 heads is "
                "within 10% of its prediction\n"),
      std::string::npos)
      << text;
}

TEST(Alternatives, ThePageComparesThem) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("alternatives_" + std::to_string(::getpid()) + ".html")).string();
  Result result = with_alternatives();
  result.theory.heads.resize(result.heads.size());
  result.theory.heads[0].spread = 1, result.theory.heads[0].freezing_point = 3;
  std::string html = page(result);
  html.insert(html.find("<title>"),
              "<script>window.problems = []; addEventListener('error', (event) => problems.push(event.message));"
              "</script>");
  std::ofstream(path) << html;
  const auto got = support::found_at_width(path, 1200, R"((() => {
    const all = (css) => [...document.querySelectorAll(css)];
    const section = (title) => all('section').find((x) => x.querySelector('h2') && x.querySelector('h2').textContent === title);
    const cells = (place) => [...place.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent));
    const rows = cells(section('What if')), plots = section('What if').querySelectorAll('.plot').length;
    all(`.cell[data-head='0.2']`)[0].click();
    return [problems, rows, plots, cells(all('aside')[0]), all('img').length, cells(section('Theory'))];
  })())");
  std::filesystem::remove(path);
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].size(), 5u);
  EXPECT_EQ(got[1][0].dump(),
            R"(["change","loss","perplexity","entropy","perplexity at 512","entropy at 512","missing mass",)"
            R"("error of a head's output","bound on the error"])");
  EXPECT_EQ(got[1][1][2], "25.79");
  EXPECT_EQ(got[1][3].dump(), R"(["scale log_n:kappa=by head","3.0000","20.09","3.5","90.02","5.5","–","–","–"])");
  EXPECT_EQ(got[1][4][0], "mask <img src=x>");
  EXPECT_EQ(got[1][4][6], "0.25");
  EXPECT_EQ(got[2], 4);  // loss and entropy by length, a map of missing mass and one of the solved parameter
  EXPECT_EQ(got[3][3].dump(), R"(["mask <img src=x>","3","0.2","0.25","1.5","–","–"])");
  EXPECT_EQ(got[4], 0);
  EXPECT_EQ(got[5][0].dump(), R"(["head","phase","Gaussian","spread of scores","freezing point"])");
  EXPECT_EQ(got[5][1].dump(), R"(["0.0","spread","no","1","3"])");
  EXPECT_EQ(got[5][2].dump(), R"(["0.1","–","no","–","–"])");
}

}  // namespace
}  // namespace isentropic::scan
