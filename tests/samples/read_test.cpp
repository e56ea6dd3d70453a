// Data files of every kind, and what is said about bad ones.
#include "samples/read.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "isentropic/error.hpp"
#include "samples/columns.hpp"

namespace isentropic::samples {
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
  static Part column(const std::string& path, const std::string& list) { return read(path, {{"--x", list}}).at(0); }
  static std::string complaint(const std::string& path, const std::string& list = "0") {
    try {
      column(path, list);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
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
  const auto parts = read(named, {{"--x", "1"}, {"--y", "2\xC2\xB2"}});
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
  EXPECT_CONTAINS(complaint(file("a", "1,2\n0x10,3\n")), "is 0x10");
  EXPECT_CONTAINS(complaint(file("a", "1,2\n"), "2"), "--x is '2'; expected a column from 0 to 1");
  EXPECT_CONTAINS(complaint(file("a", "p,q\n1,2\n"), "r"), "or one of p, q");
}

// ---- NumPy ----

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

std::string npy(const std::string& type, const std::string& order, const std::string& shape, const std::string& data) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string out = "\x93NUMPY";
  out += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return out + header + data;
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
  // Every prefix of a good file is refused, and none crashes.
  const std::string good = npy("<f8", "False", "(3, 2)", data);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(complaint(file("a.npy", good.substr(0, length))), "none") << length;
}

}  // namespace
}  // namespace isentropic::samples
