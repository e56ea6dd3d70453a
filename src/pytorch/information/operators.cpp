// torch.ops.isentropic.information_...: the information library for Python, every function by name.
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <utility>

#include "pytorch/errors.hpp"
#include "pytorch/information/functions.hpp"

namespace isentropic::pytorch::bindings {
namespace {

const std::map<std::string, Function>& all_functions() {
  static const std::map<std::string, Function> all = [] {
    std::map<std::string, Function> out;
    for (const auto& functions :
         {attention_functions(), bottleneck_functions(), bound_functions(), distribution_functions(),
          estimator_functions(), noise_functions(), score_functions(), weight_functions()})
      for (const Function& one : functions) out.emplace(one.name, one);
    return out;
  }();
  return all;
}

// "name kind kind ...", for every function.
Words list_functions() {
  Words out;
  for (const auto& [name, one] : all_functions()) out.push_back(name + " " + one.kinds);
  return out;
}

// Python has converted the tensors to the types and shapes of their kinds; `turns` is the size of array numbers.
std::tuple<std::vector<at::Tensor>, Words> call(const std::string& name,
                                                const c10::List<std::optional<at::Tensor>>& tensors,
                                                const std::vector<std::string>& words, std::int64_t turns) {
  return with_python_errors([&] {
    const auto found = all_functions().find(name);
    if (found == all_functions().end()) throw Error("name", in_quotes(name), "one that information_functions lists");
    const std::vector<MaybeTensor> given(tensors.begin(), tensors.end());
    Results out(turns);
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      Arguments arguments(given, words, turn);
      out.start_turn();
      found->second.call(arguments, out);
    }
    return std::tuple(out.tensors(), out.words());
  });
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def("information_functions() -> str[]", list_functions);
  library.def("information_call(str name, Tensor?[] tensors, str[] words, int turns) -> (Tensor[], str[])", call);
}

}  // namespace
}  // namespace isentropic::pytorch::bindings
