// Data files of every kind, and the errors for bad ones.
#include "io/read.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "io/columns.hpp"
#include "isentropic/error.hpp"
#include "support/complaint.hpp"

namespace isentropic::io {
namespace {

using Values = std::vector<double>;

class ReadTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static Part column(const std::string& path, const std::string& list, const Options& options = {}) {
    return read(path, {{"--x", list}}, options).parts.at(0);
  }
  static std::string complaint(const std::string& path, const std::string& list = "0", const Options& options = {}) {
    return support::complaint([&] { column(path, list, options); });
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("isentropic_samples_" + std::to_string(::getpid()));
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(ReadTest, APipeIsReadOnce) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "1,2\n3,4\n"; });
  const Part part = column(pipe, "1");
  writer.join();
  EXPECT_EQ(part.table.values, (Values{2, 4}));
}

TEST_F(ReadTest, Separators) {
  for (const std::string content : {"1,2,3,\n4,5,6,\r\n", "1\t2\t3\n4\t5\t6\n", "1; 2; 3\n4; 5; 6",
                                    "  1  2 3\r\n4 5\t6 \r\n", "\n% comment\n# another\n1,2,3\n\n4,5,6\n",
                                    "\xEF\xBB\xBF"
                                    "1,2,3\n4,5,6\n"}) {
    const Part part = column(file("a.txt", content), "2,0");
    EXPECT_EQ(part.table.rows, 2) << content;
    EXPECT_EQ(part.table.values, (Values{3, 1, 6, 4})) << content;
    EXPECT_EQ(part.names, (std::vector<std::string>{"2", "0"}));
  }
}

TEST_F(ReadTest, HeaderAndTextColumns) {
  const std::string path = file("a.csv", "name,\"size, cm\",7\n\"a,b\",+1.5,1e3\nc,-2,.5\n");
  EXPECT_CONTAINS(complaint(path, "name"), "no header: its first line holds a number");
  EXPECT_CONTAINS(complaint(path, "0"), "line 1, column 0 is name; expected a finite number");
  const std::string named = file("b.csv", "name,\"size, cm\",2\xC2\xB2\n\"a,b\",+1.5,1e3\nc,-2,.5\n");
  const auto parts = read(named, {{"--x", "1"}, {"--y", "2\xC2\xB2"}}).parts;
  EXPECT_EQ(parts[0].table.values, (Values{1.5, -2}));
  EXPECT_EQ(parts[0].names[0], "size, cm");
  EXPECT_EQ(parts[1].table.values, (Values{1000, .5}));
}

TEST_F(ReadTest, ColumnLists) {
  const std::vector<std::string> names = {"a", "b", "a-b", "3"};
  using Columns = std::vector<std::size_t>;
  EXPECT_EQ(columns_in("--x", "0-2", 4, {}), (Columns{0, 1, 2}));
  EXPECT_EQ(columns_in("--x", "3,0-1", 4, {}), (Columns{3, 0, 1}));
  EXPECT_EQ(columns_in("--x", "a-b,b", 4, names), (Columns{2, 1}));
  EXPECT_EQ(columns_in("--x", "3", 4, names), (Columns{3}));
  EXPECT_EQ(columns_in("--x", "*", 4, names), (Columns{0, 1, 2, 3}));
  for (const std::string bad : {"4", "", "0,", "2-1", "0-4", "c", "-1", "0,0", "0-1,1", "0 1", "1-"})
    EXPECT_THROW(columns_in("--x", bad, 4, names), Error) << bad;
}

TEST_F(ReadTest, BadText) {
  EXPECT_CONTAINS(complaint((folder_ / "none.csv").string()), "none.csv is missing; expected a data file");
  EXPECT_CONTAINS(complaint(folder_.string()), "is a directory");
  EXPECT_CONTAINS(complaint(file("a", "")), "is empty");
  EXPECT_CONTAINS(complaint(file("a", "# only this\n\n")), "is empty");
  EXPECT_CONTAINS(complaint(file("a", "x,y\n"), "x"), "is empty below its header");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n3\n")), "line 2 is 1 cells long; expected 2, as the first line");
  EXPECT_CONTAINS(complaint(file("a", "x,y\n1,2\n\n3,4,5\n"), "y"), "line 4 is 3 cells long");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n3,abc\n"), "1"), "line 2, column 1 is abc; expected a finite number");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n,3\n")), "line 2, column 0 is empty");
  EXPECT_CONTAINS(complaint(file("a", "1,2\nnan,3\n")), "line 2, column 0 is nan");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n1e999,3\n")), "is 1e999");
  EXPECT_CONTAINS(complaint(file("a", std::string(1'000'000, ','))), "1000001 cells long; expected at most a million");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n0x10,3\n")), "is 0x10");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n"), "2"), "--x is '2'; expected a column from 0 to 1");
  EXPECT_CONTAINS(complaint(file("a", "p,q\n1,2\n"), "r"), "or one of p, q");
}

const Options kAnything{.content = Content::anything};
const Options kDropping{.content = Content::anything, .missing = Missing::dropped};

TEST_F(ReadTest, TruthAndText) {
  const std::string path = file("a.csv", "t,c,n,m\nTrue,red,1,1\nFALSE,\"blue, or so\",2,x\ntrue,red,3,2\n");
  EXPECT_EQ(column(path, "t", kAnything).table.values, (Values{1, 0, 1}));
  EXPECT_EQ(column(path, "t", kAnything).text, (std::vector<std::string>{}));
  const Part part = column(path, "n,c", kAnything);
  EXPECT_EQ(part.table.values, (Values{1, 0, 2, 1, 3, 0}));
  EXPECT_EQ(part.text, (std::vector<std::string>{"c"}));
  EXPECT_CONTAINS(complaint(path, "m", kAnything), "line 3, column 3 (m) is x; expected a finite number");
  EXPECT_CONTAINS(complaint(path, "t"), "line 2, column 0 (t) is True; expected a finite number");
  EXPECT_CONTAINS(complaint(path, "c"), "line 2, column 1 (c) is red; expected a finite number");
  EXPECT_CONTAINS(complaint(file("a.csv", "a\nx\n1\n"), "a", kAnything), "line 3, column 0 (a) is 1; expected text");
  EXPECT_CONTAINS(complaint(file("a.csv", "a\nTrue\nno\n"), "a", kAnything), "is no; expected True or False");
}

TEST_F(ReadTest, MissingCells) {
  for (const std::string nothing : {"", "\"\"", "NaN", "nan", "NA", "n/a", "<NA>", "NULL"}) {
    const std::string path = file("a.csv", "x,c,other\n1,a,1\n" + nothing + ",b,2\n3," + nothing + ",3\n4,b,\n");
    EXPECT_CONTAINS(complaint(path, "x"), "line 3, column 0 (x) is ");
    EXPECT_CONTAINS(complaint(path, "c", {.content = Content::anything, .instead_of_missing = "--drop"}),
                    "; expected a value, or --drop");
    const Samples samples = read(path, {{"--x", "x"}, {"--y", "c"}}, kDropping);
    EXPECT_EQ(samples.parts[0].table.values, (Values{1, 4}));
    EXPECT_EQ(samples.parts[1].table.values, (Values{0, 1}));
    EXPECT_EQ(samples.rows_dropped, 2);
  }
  EXPECT_CONTAINS(complaint(file("a.csv", "x\ninf\n"), "x", kDropping), "is inf; expected a finite number");
  EXPECT_CONTAINS(complaint(file("a.csv", "x,y\n,1\nNA,2\n"), "x", kDropping), "is without a complete row");
}

// df.to_csv() writes a leading index column with an empty header.
TEST_F(ReadTest, TheIndexOfATable) {
  const std::string path = file("a.csv", ",a,b\n0,5,6\n1,7,8\n");
  const Samples all = read(path, {{"--x", "*"}});
  EXPECT_EQ(all.parts[0].table.values, (Values{5, 6, 7, 8}));
  EXPECT_EQ(all.parts[0].names, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(all.notes.size(), 1);
  EXPECT_CONTAINS(all.notes[0], "the first column has no name and was left out");
  const Samples chosen = read(path, {{"--x", "0"}, {"--y", "2"}});
  EXPECT_EQ(chosen.parts[0].table.values, (Values{0, 1}));
  EXPECT_EQ(chosen.parts[1].table.values, (Values{6, 8}));
  ASSERT_EQ(chosen.notes.size(), 1);
  EXPECT_CONTAINS(chosen.notes[0], "column 0 of --x has no name");
  // Columns named by numbers: --x 0 refers to the one of that name.
  const Samples numbered = read(file("a.csv", ",0,1\n0,5,6\n1,7,8\n"), {{"--x", "*"}, {"--y", "0"}});
  EXPECT_EQ(numbered.parts[0].table.values, (Values{5, 6, 7, 8}));
  EXPECT_EQ(numbered.parts[1].table.values, (Values{5, 7}));
  // Row names, as pandas' crosstab writes them.
  const Samples crossed = read(file("a.csv", "colour,S,L\nred,5,6\nblue,7,8\n"), {{"--x", "*"}});
  EXPECT_EQ(crossed.parts[0].table.values, (Values{5, 6, 7, 8}));
  ASSERT_EQ(crossed.notes.size(), 1);
  EXPECT_CONTAINS(crossed.notes[0], "column colour holds text and was left out");
  // The header of a table with neither names nor index is indistinguishable from data.
  const Samples plain = read(file("a.csv", "0,1,2\n5,6,7\n"), {{"--x", "*"}});
  EXPECT_EQ(plain.parts[0].table.rows, 2);
  ASSERT_EQ(plain.notes.size(), 1);
  EXPECT_CONTAINS(plain.notes[0], "was read as data");
}

TEST_F(ReadTest, Quotes) {
  const Part part = column(file("a.csv", "\"a \"\"b\"\"\",5\" nail\n\"1\", 2\n\"3\" ,4\n"), "0,1");
  EXPECT_EQ(part.names, (std::vector<std::string>{"a \"b\"", "5\" nail"}));
  EXPECT_EQ(part.table.values, (Values{1, 2, 3, 4}));
  EXPECT_CONTAINS(complaint(file("a.csv", "a,b\n1,2\n\"3,4\n")), "line 3 is cut off within quotes");
}

TEST_F(ReadTest, NamesOfSeveralColumns) {
  const std::string path = file("a.csv", "a,a\n1,2\n");
  EXPECT_CONTAINS(complaint(path, "a"), "--x is 'a', the name of several columns; expected a number, such as 0");
  EXPECT_EQ(column(path, "1").table.values, (Values{2}));
}

// ---- NumPy ----

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

std::string npy_with(char version, const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY";
  out += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) out += {'\0', '\0'};
  return out + header + data;
}
std::string npy(const std::string& type, const std::string& order, const std::string& shape, const std::string& data) {
  return npy_with(1, "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n", data);
}

TEST_F(ReadTest, NumpyTypesAndOrders) {
  const Values expected = {2, 4, 6};  // the second column of a 3 x 2 array
  EXPECT_EQ(
      column(file("a.npy", npy("<f8", "False", "(3, 2)", bytes_of<double>({1, 2, 3, 4, 5, 6}))), "1").table.values,
      expected);
  EXPECT_EQ(column(file("a.npy", npy("<f8", "True", "(3, 2)", bytes_of<double>({1, 3, 5, 2, 4, 6}))), "1").table.values,
            expected);
  EXPECT_EQ(column(file("a.npy", npy("<f4", "False", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6}))), "1").table.values,
            expected);
  EXPECT_EQ(column(file("a.npy", npy("<i4", "False", "(3, 2)", bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6}))), "1")
                .table.values,
            expected);
  EXPECT_EQ(column(file("a.npy", npy("|u1", "False", "(3,)", "\1\2\3")), "0").table.values, (Values{1, 2, 3}));
  EXPECT_EQ(column(file("a.npy", npy("|i1", "False", "(2,)", "\xFF\2")), "0").table.values, (Values{-1, 2}));
  EXPECT_EQ(column(file("a.npy", npy(">i2", "False", "(2,)", std::string("\1\0\0\2", 4))), "0").table.values,
            (Values{256, 2}));
}

const std::string kHeader = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }\n";

TEST_F(ReadTest, BadNumpy) {
  const std::string data = bytes_of<double>({1, 2, 3, 4, 5, 6});
  EXPECT_CONTAINS(complaint(file("a.npy", "1,2\n3,4\n")), "without NumPy's first bytes");
  EXPECT_CONTAINS(complaint(file("a.npy", "")), "without NumPy's first bytes");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(3, 3)", data))), "cut off: 3 x 3 numbers announced");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(4294967296, 4294967296)", data))), "cut off");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(99999999999999999999,)", data))), "too large");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("|O", "False", "(3, 2)", data))), "of type '|O'");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(1, 3, 2)", data))), "of 3 dimensions");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "()", data))), "of 0 dimensions");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(0, 2)", data))), "is empty");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(3, 2)", data).substr(0, 40))), "cut off within");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(2,)", bytes_of<double>({1, NAN})))),
                  "row 1, column 0 is nan");
  const Part complete = column(file("a.npy", npy("<f8", "False", "(2,)", bytes_of<double>({1, NAN}))), "0", kDropping);
  EXPECT_EQ(complete.table.values, (Values{1}));
  for (const char version : {1, 2, 3})
    EXPECT_EQ(complaint(file("a.npy", npy_with(version, kHeader, data))), "none") << int{version};
  for (const char version : {0, 4, 9, 127})
    EXPECT_CONTAINS(complaint(file("a.npy", npy_with(version, kHeader, data))), "; expected 1.0, 2.0 or 3.0");
  for (const std::string shape :
       {"(-3, 2)", "(3, -2)", "(3.0, 2)", "(3 2)", "(3x2)", "(0x3, 2)", "(3, , 2)", "[3, 2]", "(3, 2", "3"})
    EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", shape, data))), "expected a NumPy array of numbers");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(-3, 2)", data))), "of a shape with '-3'");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "Maybe", "(3, 2)", data))), "with fortran_order 'Maybe'");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("?f8", "False", "(3, 2)", data))), "of type '?f8'");
  EXPECT_CONTAINS(complaint(file("a.npy", npy("<f8", "False", "(3, 1)", data))), "longer than the 3 x 1 numbers");
  EXPECT_CONTAINS(complaint(file("a.npy", npy_with(1, "{'descr': '<f8', 'shape': (3, 2)}", data))),
                  "without 'fortran_order' in its header");
  EXPECT_CONTAINS(complaint(file("a.npy", npy_with(1, "{'shape': (6,), " + kHeader.substr(1), data))),
                  "with 'shape' in its header");
  EXPECT_CONTAINS(complaint(file("a.npy", npy_with(1, kHeader + "x", data))), "with text behind its header");
  // Every prefix of a valid file is rejected, and none crashes.
  const std::string good = npy("<f8", "False", "(3, 2)", data);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(complaint(file("a.npy", good.substr(0, length))), "none") << length;
}

}  // namespace
}  // namespace isentropic::io
