// Runs headless Chromium on a page and returns the document.
#include "support/browser.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace support {
namespace {

std::string text_in(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// The document after its script has run. A separate profile lets several browsers run in parallel.
std::string document(const std::string& path) {
  const std::string profile = path + ".profile";
  const std::string command =
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --window-size=1200,2000 "
      "--user-data-dir='" +
      profile + "' --dump-dom 'file://" + path + "' 2>/dev/null";
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[65536];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  ::pclose(pipe);
  std::filesystem::remove_all(profile);
  if (out.empty()) ADD_FAILURE() << "no page was drawn; is chromium installed? apt-get install chromium";
  return out;
}

}  // namespace

std::string drawn(const std::string& path) {
  const std::string page = document(path);
  return page.substr(0, page.find("<script"));
}

// Browser windows cannot be narrower than 500 pixels, but frames can. Frames are opaque, so the page posts its result.
nlohmann::json found_at_width(const std::string& path, int width, const std::string& expression) {
  const std::string inner = path + ".inner.html", outer = path + ".outer.html";
  std::ofstream(inner) << text_in(path) << "<script>parent.postMessage(JSON.stringify((" << expression
                       << ")).replace(/[<>&]/g, (c) => '\\\\u00' + c.charCodeAt(0).toString(16)), '*');</script>";
  std::ofstream(outer) << "<!doctype html><pre></pre><script>onmessage = (event) => "
                          "document.querySelector('pre').textContent = event.data;</script><iframe width="
                       << width << " height=800 style='border: 0' src='file://" << inner << "'></iframe>";
  const std::string page = document(outer);
  const std::size_t begin = page.find("<pre>") + 5;
  return nlohmann::json::parse(page.substr(begin, page.find("</pre>", begin) - begin), nullptr, false);
}

int count(const std::string& text, const std::string& wanted) {
  int out = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++out;
  return out;
}

}  // namespace support
