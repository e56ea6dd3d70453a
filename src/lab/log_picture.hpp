// The log of a training run as an SVG chart: loss against the step, and H / log k of each layer.
#pragma once

#include <string>

namespace isentropic::lab {

// `log` is the text of a log.jsonl (run_files.hpp); `title` says what was trained.
std::string log_picture(const std::string& title, const std::string& log);

}  // namespace isentropic::lab
