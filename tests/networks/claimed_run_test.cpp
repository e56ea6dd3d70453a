// Parts of a study shared between processes: what claiming one protects, and cleaning up after killed processes.
#include "lab/claimed_run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace isentropic::lab {
namespace {

namespace fs = std::filesystem;

class ClaimedRuns : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(runs()); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path runs() const { return fs::path(folder_) / "runs"; }
  void leave(const std::string& file) const { std::ofstream(runs() / file) << "left"; }

  const std::string folder_ = testing::TempDir() + "claimed_runs_" + std::to_string(::getpid());
};

TEST_F(ClaimedRuns, WhatIsLeftIsRemovedAndWhatIsHeldStays) {
  for (const char* name : {"law-0.1-2", "other-0.004-1"})
    for (const char* ending : {".lock", ".safetensors", ".safetensors.part-17"}) leave(std::string(name) + ending);
  leave("without-a-lock-1.safetensors.part-5");
  EXPECT_FALSE(ClaimedRun::any_is_held(folder_));
  {
    const auto held = ClaimedRun::claim(folder_, "law-0.1-2");
    ASSERT_TRUE(held);
    EXPECT_FALSE(ClaimedRun::claim(folder_, "law-0.1-2"));
    EXPECT_TRUE(ClaimedRun::any_is_held(folder_));
    ClaimedRun::remove_all(folder_);
    for (const auto& entry : fs::directory_iterator(runs()))
      EXPECT_TRUE(entry.path().filename().string().starts_with("law-0.1-2.")) << entry.path();
    EXPECT_TRUE(fs::exists(runs() / "law-0.1-2.safetensors"));
  }
  ClaimedRun::remove_all(folder_);
  EXPECT_FALSE(fs::exists(runs()));
}

// Another law's file whose name starts the same does not belong to the part.
TEST_F(ClaimedRuns, FinishingOneLeavesTheOthers) {
  leave("law-0.1-20.safetensors");
  leave("law-0.1-2.safetensors.part-3");
  ClaimedRun::claim(folder_, "law-0.1-2")->finish();
  EXPECT_TRUE(fs::exists(runs() / "law-0.1-20.safetensors"));
  EXPECT_FALSE(fs::exists(runs() / "law-0.1-2.safetensors.part-3"));
}

}  // namespace
}  // namespace isentropic::lab
