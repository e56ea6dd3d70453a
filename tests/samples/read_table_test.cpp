// Text tables: what is read, and that everything else is refused with file, line and column.
#include "samples/read_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "isentropic/error.hpp"

namespace isentropic::samples {
namespace {

void expect_refused(const std::string& text, const std::string& part) {
  try {
    parse_table("t.csv", text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(ReadTable, SeparatorsAndNumbers) {
  const std::vector<double> expected = {1, -2.5, 3e-2, 4};
  for (const std::string text : {"1,-2.5\n3e-2,4\n", "1;-2.5\n3e-2;4", "1 -2.5\n3e-2\t 4", " 1 , -2.5 \r\n+3e-2,4\r\n",
                                 "\xEF\xBB\xBF# note\n\n1,-2.5\n\n3e-2,4\n\n", "\"1\",\"-2.5\"\n3e-2,4"}) {
    const NamedTable table = parse_table("t.csv", text);
    EXPECT_EQ(table.values.rows, 2u) << text;
    EXPECT_EQ(table.values.columns, 2u) << text;
    EXPECT_EQ(table.values.values, expected) << text;
    EXPECT_TRUE(table.names.empty()) << text;
  }
  EXPECT_EQ(parse_table("t.csv", "7").values.values, std::vector<double>{7});
  EXPECT_EQ(parse_table("t.csv", "1e-400").values.values, std::vector<double>{0});
}

TEST(ReadTable, Names) {
  const NamedTable table = parse_table("t.csv", "height,\"weight, kg\"\n1.8,75\n");
  EXPECT_EQ(table.names, (std::vector<std::string>{"height", "weight, kg"}));
  EXPECT_EQ(table.values.rows, 1u);
  EXPECT_EQ(parse_table("t.csv", "x y\n1 2\n").names.size(), 2u);
}

TEST(ReadTable, Refusals) {
  expect_refused("", "t.csv is empty");
  expect_refused("# only a note\n", "t.csv is empty");
  expect_refused("x,y\n", "t.csv is x; expected lines of numbers");
  expect_refused("1,2\n3,four\n", "t.csv, line 2, column 2 is four; expected a number");
  expect_refused("x,y\n# note\n1,2\n3,\n", "t.csv, line 4, column 2 is empty; expected a number");
  expect_refused("x,2\n", "t.csv, line 1, column 1 is x; expected a number");
  expect_refused("1,2\nx,y\n", "t.csv, line 2, column 1 is x");
  expect_refused("1,2\n3\n", "t.csv, line 2 is 1 cells long; expected 2, as the first line");
  expect_refused("1,2\n3,4,5\n", "t.csv, line 2 is 3 cells long");
  expect_refused("1,nan\n", "column 2 is nan; expected a finite number");
  expect_refused("1,1e999\n", "column 2 is 1e999; expected a finite number");
  expect_refused("1,2\n3,+-4\n", "is +-4; expected a number");
  expect_refused("1,2\n3,0x10\n", "is 0x10");
  expect_refused("1,2\n3,\x1b[31m\n", "is ?[31m;");
  expect_refused("1,2\n3," + std::string(500, 'a') + "\n", "aaa...; expected a number");
}

TEST(ReadTable, Files) {
  const std::string path = testing::TempDir() + "/read_table_test.csv";
  std::ofstream(path) << "a,b\n1,2\n";
  EXPECT_EQ(read_table("FILE", path).values.values, (std::vector<double>{1, 2}));
  const auto message = [](const std::string& where) {
    try {
      read_table("FILE", where);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(path + ".missing").find("FILE is " + path + ".missing; expected a text file that can be read (No"),
            std::string::npos);
  EXPECT_NE(message(testing::TempDir()).find("FILE is "), std::string::npos);
  EXPECT_NE(message("/dev/zero").find("zero byte"), std::string::npos);
  EXPECT_NE(message("").find("FILE is empty"), std::string::npos);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace isentropic::samples
