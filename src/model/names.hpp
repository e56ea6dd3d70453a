// Number types and devices by the names that commands, config.json and run.json give them.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace isentropic::model {

// "float32", "bfloat16" or "float16". Error, which begins with `argument`: the known ones, behind those that the caller
// knows beside them ("stored, ").
at::ScalarType type_named(const std::string& argument, const std::string& name, const std::string& beside = "");
std::string name(at::ScalarType type);

// "cpu", "cuda" or "cuda:1". Throws Error unless this machine and this build have it.
at::Device device_named(const std::string& argument, const std::string& name);

}  // namespace isentropic::model
