// Tests that inspect a page rendered by a real browser.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/browser.hpp"

namespace isentropic::scan {

// Collects errors and warnings from the first line of the page on.
inline constexpr const char* kWatch =
    "<script>window.problems = [];"
    "addEventListener('error', (event) => problems.push(String(event.message)), true);"
    "addEventListener('securitypolicyviolation', (event) => problems.push('fetched ' + event.blockedURI));"
    "console.error = console.warn = (...words) => problems.push(words.join(' '));</script>";

class BrowserTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("scan_page_") + test->name() + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The result of statements that end in `return ...`, run in the page; `problems` lists what went wrong in it.
  nlohmann::json found_in(std::string html, const std::string& statements, int width = 1200) {
    html.insert(html.find("<title>"), kWatch);
    const std::string path = (folder_ / "page.html").string();
    std::ofstream(path) << html;
    return support::found_at_width(path, width,
                                   "(() => { const all = (css) => [...document.querySelectorAll(css)]; "
                                   "const cell = (head) => all(`.cell[data-head='${head}']`)[0]; "
                                   "const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("
                                   "'keydown', {key, bubbles: true})); " +
                                       statements + " })()");
  }

  std::filesystem::path folder_;
};

}  // namespace isentropic::scan
