// The separate program isentropic-torch.
#pragma once

#include <string>
#include <vector>

namespace isentropic::cli {

bool has_model_program();
// Does not return: the process becomes the other program. Throws Error if it cannot be started.
[[noreturn]] void start_model_program(const std::string& command, const std::vector<std::string>& arguments);

}  // namespace isentropic::cli
