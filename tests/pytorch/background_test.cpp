// Background work: its order, completion and errors.
#include "pytorch/scan/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace isentropic::pytorch {
namespace {

TEST(Background, WorksInOrderOnAnotherThread) {
  std::vector<int> found;
  Background background;
  for (int i = 0; i < 100; ++i)
    background.add([&found, i, here = std::this_thread::get_id()] {
      EXPECT_NE(std::this_thread::get_id(), here);
      found.push_back(i);
    });
  background.add_in_order([&] { found.push_back(100); });
  background.finish();
  ASSERT_EQ(found.size(), 101u);
  for (int i = 0; i <= 100; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], i);
}

TEST(Background, WorksAtOnceWhereNothingWaits) {
  Background background;
  std::thread::id found;
  background.add_in_order([&] { found = std::this_thread::get_id(); });
  EXPECT_EQ(found, std::this_thread::get_id());
  background.finish();
}

TEST(Background, TellsWhatWentWrongOnce) {
  Background background;
  std::atomic<int> count = 0;
  background.add([] { throw std::runtime_error("broken"); });
  background.add([&] { ++count; });
  background.add_in_order([&] { ++count; });
  EXPECT_THROW(background.finish(), std::runtime_error);
  EXPECT_EQ(count, 0);
  background.add([&] { ++count; });
  background.finish();
  EXPECT_EQ(count, 1);
}

TEST(Background, HoldsOnlySoMuchMemory) {
  constexpr std::size_t kHalf = std::size_t{1} << 29;
  Background background;
  std::atomic<int> begun = 0;
  for (int i = 0; i < 20; ++i) {
    background.add(
        [&] {
          std::this_thread::yield();
          ++begun;
        },
        kHalf);
    EXPECT_LE(i - begun, 3);  // two waiting, one running, and this one
  }
  background.add([&] { ++begun; }, 5 * kHalf);
  background.finish();
  EXPECT_EQ(begun, 21);
}

TEST(Background, EndsWithWorkLeft) {
  std::atomic<bool> goes_on = false;
  {
    Background background;
    background.add([&] {
      while (!goes_on) std::this_thread::yield();
    });
    background.add([] {});
    goes_on = true;
  }
  SUCCEED();
}

}  // namespace
}  // namespace isentropic::pytorch
