// A single table of types; devices are checked by trying them.
#include "model/names.hpp"

#include <ATen/ATen.h>

#include <array>
#include <utility>

#include "isentropic/error.hpp"

namespace isentropic::model {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 3> kTypes = {
    {{"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}}};
constexpr const char* kTypeNames = "float32, bfloat16 or float16";

}  // namespace

at::ScalarType type_named(const std::string& argument, const std::string& name, const std::string& beside) {
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  throw Error(argument, "'" + name + "'", beside + kTypeNames);
}

std::string name(at::ScalarType type) {
  for (const auto& [name, known] : kTypes)
    if (type == known) return name;
  throw Error("type", std::string(at::toString(type)), kTypeNames);
}

at::Device device_named(const std::string& argument, const std::string& name) try {
  const at::Device out(name);
  at::empty({1}, at::TensorOptions().device(out));
  return out;
} catch (const c10::Error&) {
  throw Error(argument, "'" + name + "'", "cpu, or cuda on a machine and a build that have it");
}

}  // namespace isentropic::model
