// Names of number types and devices, as used by commands, config.json and run.json.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace isentropic::model {

// "float32", "bfloat16" or "float16". The Error for any other name starts with `argument` and lists these, preceded by
// `beside`, further names that the caller accepts ("stored, ").
at::ScalarType type_named(const std::string& argument, const std::string& name, const std::string& beside = "");
std::string name(at::ScalarType type);

// "cpu", "cuda" or "cuda:1". Throws Error unless this machine and this build support it.
at::Device device_named(const std::string& argument, const std::string& name);

}  // namespace isentropic::model
