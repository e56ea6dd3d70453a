// JSON output of commands: objects are indented, arrays of numbers stay on one line, and nothing is lost.
#include "cli/tools/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace isentropic::cli {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, ArraysOfNumbersStayInALine) {
  const Json json = {{"names", {"a", "b"}},
                     {"heads", {{{"entropy", {{"mean", 1.5}, {"deviation", 0}}}, {"blocks", {{1, 0}, {0.5, 0.5}}}}}},
                     {"none", Json::array()},
                     {"rows", {{{"keys", {{3, 0.5}}}}, {{"keys", Json::array()}}}}};
  EXPECT_EQ(json_text(json), R"({
  "names": ["a","b"],
  "heads": [
    {
      "entropy": {"mean":1.5,"deviation":0},
      "blocks": [[1,0],[0.5,0.5]]
    }
  ],
  "none": [],
  "rows": [
    {
      "keys": [[3,0.5]]
    },
    {
      "keys": []
    }
  ]
}
)");
  EXPECT_EQ(Json::parse(json_text(json)), json);
}

TEST(JsonText, AnyValueIsWritten) {
  EXPECT_EQ(json_text(Json::object()), "{}\n");
  EXPECT_EQ(json_text(Json::array()), "[]\n");
  EXPECT_EQ(json_text(nullptr), "null\n");
  EXPECT_EQ(json_text(2.5), "2.5\n");
  const Json odd = {{"a \"key\"\n\xff", "\xfe"}};
  EXPECT_EQ(json_text(odd), "{\n  \"a \\\"key\\\"\\n\xef\xbf\xbd\": \"\xef\xbf\xbd\"\n}\n");
}

}  // namespace
}  // namespace isentropic::cli
