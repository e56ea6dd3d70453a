// A training run as a page: its content, its size, what it rejects, and how a browser renders it.
#include "scan/training_page.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "scan/browser_test.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

// Entropy of head h of layer l at step s: 1 + l + h / 10 - s / 1000; head 1 of b collapses at step 20.
Json some_run(std::int64_t last = 40) {
  Json out = {{"name", "run <b>7</b>"}, {"history", Json::object()}};
  for (std::int64_t step = 0; step <= last; step += 10)
    for (const auto& [layer, base] : {std::pair("a.attention", 1.0), {"b.<i>attention", 2.0}})
      for (int head = 0; head < 3; ++head) {
        Json& record = out["history"][std::to_string(step)][layer];
        record["entropy"].push_back(base + head / 10.0 - static_cast<double>(step) / 1000);
        record["normalised_entropy"].push_back(head == 1 && step >= 20 ? 0.03 : 0.5);
      }
  out["history"]["10"]["a.attention"]["entropy"][2] = nullptr;
  out["alarms"] = {{{"kind", "dispersion"}, {"layer", "gone"}, {"head", 0}, {"value", nullptr}, {"step", 30}},
                   {{"kind", "collapse"},
                    {"layer", "b.<i>attention"},
                    {"head", 1},
                    {"value", 0.03},
                    {"step", 20},
                    {"statistic", "normalised_entropy"}}};
  return out;
}

Json training_data(const std::string& html) {
  const std::string open = "id=\"training\">";
  const std::size_t begin = html.find(open) + open.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(TrainingPage, HoldsCurvesByStatisticLayerHeadAndStep) {
  Json run = some_run();
  run["history"]["5"] = run["history"]["40"];  // later in the file, earlier in the run
  const Json data = training_data(training_page(run.dump()));
  EXPECT_EQ(data["steps"].dump(), "[0,5,10,20,30,40]");
  EXPECT_EQ(data["layers"].dump(), R"([["a.attention",3],["b.<i>attention",3]])");
  EXPECT_EQ(data["terms"][0]["name"], "normalised_entropy");
  EXPECT_EQ(data["terms"][1]["name"], "entropy");
  EXPECT_EQ(data["curves"][1][1][2].dump(), "[2.2,2.16,2.19,2.18,2.17,2.16]");
  EXPECT_TRUE(data["curves"][1][0][2][2].is_null());
  // Sorted by step; a layer that is not in the history has no number.
  EXPECT_EQ(data["alarms"].dump(), R"([["collapse",1,1,20,0.03,"normalised_entropy"],)"
                                   R"(["dispersion",null,0,30,null,"normalised_entropy"]])");
  EXPECT_EQ(data["sentences"][0], "6 steps from 0 to 40, 2 layers, 6 heads.");
  EXPECT_EQ(data["sentences"][1], "The mean entropy goes from 1.60 nats at step 0 to 1.56 at step 40.");
  EXPECT_EQ(data["sentences"][2], "2 alarms: 1 collapse, 1 dispersion; the first at step 20.");
}

TEST(TrainingPage, LayersAndHeadsMayComeAndGo) {
  Json run = some_run();
  run["history"]["30"].erase("a.attention");
  run["history"]["20"]["late"]["peak"] = {0.5, 0.25, 1, 0};
  const Json data = training_data(training_page(run.dump()));
  EXPECT_EQ(data["layers"][2].dump(), R"(["late",4])");
  EXPECT_TRUE(data["curves"][1][0][0][3].is_null());
  EXPECT_EQ(data["curves"][2][2][1].dump(), "[null,null,0.25,null,null]");
  EXPECT_EQ(data["terms"][2]["name"], "peak");
}

TEST(TrainingPage, LongRunsOfLargeModelsStaySmall) {
  Json run = {{"history", Json::object()}};
  const Json heads = std::vector<double>(32, 1.0 / 3);
  for (int step = 0; step < 1000; ++step)
    for (int layer = 0; layer < 32; ++layer)
      run["history"][std::to_string(step)]["layer " + std::to_string(layer)] = {{"entropy", heads}, {"peak", heads}};
  const std::string html = training_page(run.dump());
  EXPECT_LT(html.size(), 3'500'000u);
  const Json data = training_data(html);
  EXPECT_EQ(data["steps"].size(), kMostNumbers / 2048);
  EXPECT_EQ(data["steps"].front(), 0);
  EXPECT_EQ(data["steps"].back(), 999);
  EXPECT_NE(data["sentences"][0].get<std::string>().find("the page holds 195 of the steps"), std::string::npos);
}

TEST(TrainingPage, OtherJsonIsRefused) {
  const auto message = [](const std::string& json) {
    try {
      training_page(json);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("drawn");
  };
  const auto damaged = [&](const std::function<void(Json*)>& damage) {
    Json run = some_run();
    damage(&run);
    return message(run.dump());
  };
  EXPECT_EQ(message(some_run().dump()), "drawn");
  EXPECT_EQ(message(R"({"history": {}})"), "drawn");
  for (const char* other :
       {"", "[]", "7", "{}", R"({"history": 7})", R"({"history": {"1": {"a": {"entropy": [NaN]}}}})"})
    EXPECT_TRUE(message(other).starts_with("the history is missing; expected {\"history\"")) << message(other);
  EXPECT_EQ(message(std::string(100000, '[')).find("the history is missing"), 0u);
  EXPECT_NE(damaged([](Json* run) { (*run)["history"]["-3"] = Json::object(); }).find("with the step '-3'"),
            std::string::npos);
  EXPECT_NE(damaged([](Json* run) { (*run)["history"]["1e9"] = Json::object(); }).find("'1e9'"), std::string::npos);
  EXPECT_EQ(damaged([](Json* run) { (*run)["history"]["10"] = 7; }),
            "the history at step 10 is not an object; expected {layer: {statistic: [by head]}}");
  EXPECT_EQ(damaged([](Json* run) {
              (*run)["history"]["10"]["a.attention"] = 7;
            }).find("the history of a.attention at step 10 is not an object"),
            0u);
  EXPECT_NE(damaged([](Json* run) {
              (*run)["history"]["10"]["a.attention"]["entropy"][0] = "1";
            }).find("with the entropy not a list of numbers"),
            std::string::npos);
  EXPECT_NE(damaged([](Json* run) { (*run)["alarms"][0].erase("kind"); }).find("an alarm that is incomplete"),
            std::string::npos);
  EXPECT_NE(damaged([](Json* run) { (*run)["alarms"][0]["step"] = 1.5; }).find("with an alarm {"), std::string::npos);
  EXPECT_NE(damaged([](Json* run) { (*run)["alarms"] = 7; }).find("an alarm that is incomplete"), std::string::npos);
}

class TrainingInABrowser : public BrowserTest {};

TEST_F(TrainingInABrowser, TheSliderMovesTheMapAndTheCurves) {
  const auto got = found_in(
      training_page(some_run().dump()),
      "const slider = all('#step')[0], out = [all('.cell').length, cell('1.2').textContent, "
      "all('output')[0].textContent];"
      "slider.value = 0; slider.dispatchEvent(new Event('input')); out.push(cell('1.2').textContent,"
      " all('output')[0].textContent, all('.cell.alarmed').length);"
      "slider.value = 2; slider.dispatchEvent(new Event('input'));"
      "out.push(all('.cell.alarmed').map((x) => x.dataset.head).join());"
      "all('.curves svg')[0].focus(); press('ArrowLeft'); press('ArrowLeft');"
      "out.push(all('output')[0].textContent, document.activeElement.tagName);"
      "const select = all('#statistic')[0]; select.value = '0'; select.dispatchEvent(new Event('change'));"
      "out.push(cell('1.2').textContent, all('.curves h2')[0].textContent, all('.curves .thin').length,"
      " all('.curves .mean').length, all('.curves .alarm').length);"
      "return [problems, out, all('h1')[0].textContent, all('.sentence').length, all('b, i.attention').length]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"([6,"2.16","40","2.2","0",0,"1.1","0","svg","0.50","Normalised entropy by step",6,2,2])");
  EXPECT_EQ(got[2], "run <b>7</b>");
  EXPECT_EQ(got[3], 3);
  EXPECT_EQ(got[4], 0);
}

TEST_F(TrainingInABrowser, AHeadIsChosenByClickAndKeyboard) {
  const auto got = found_in(
      training_page(some_run().dump()),
      "const out = []; const shown = () => [all('.curves .chosen').length, all('.curves .thin').length,"
      " all('.cell.open').map((x) => x.dataset.head).join()].join(' ');"
      "cell('1.1').click(); out.push(shown(), all('.readout')[0].textContent, all('.curves .alarm').length);"
      "all('.cell[tabindex=\"0\"]')[0].focus(); press('ArrowDown'); const tip = all('.tooltip')[0].textContent;"
      "press('Enter'); out.push(shown()); press('Escape'); out.push(shown());"
      "location.hash = all('td a')[0].getAttribute('href'); dispatchEvent(new Event('hashchange'));"
      "out.push(all('output')[0].textContent); return [problems, out, tip]");
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_EQ(got[1].dump(), R"(["1 3 1.1","step 40: head 1.1 2.06 nats",1,"1 3 1.0","0 6 ","20"])");
  EXPECT_EQ(got[2], "Head 1.0 of b.<i>attentionentropy 1.96 at step 40");
}

TEST_F(TrainingInABrowser, FitsAPhoneAndDrawsItselfWithoutAnything) {
  const auto got =
      found_in(training_page(some_run().dump()), "return [problems, document.documentElement.scrollWidth]", 375);
  ASSERT_TRUE(got.is_array()) << got;
  EXPECT_EQ(got[0].size(), 0u) << got[0];
  EXPECT_LE(got[1], 375);
  EXPECT_EQ(found_in(training_page(R"({"history": {}})"), "return problems").dump(), "[]");
  EXPECT_EQ(found_in(training_page(R"({"history": {"7": {"a": {"peak": [null]}}}})"), "return problems").dump(), "[]");
}

}  // namespace
}  // namespace isentropic::scan
