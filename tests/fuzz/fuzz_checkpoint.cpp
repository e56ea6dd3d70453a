// Damaged safetensors files and configurations, read in full: fuzz_checkpoint SECONDS [FIRST INPUT].
#include <memory>
#include <numeric>
#include <stdexcept>

#include "checkpoint/config.hpp"
#include "checkpoint/safetensors.hpp"
#include "fuzz/run_for.hpp"

namespace isentropic::checkpoint {
namespace {

std::string safetensors_file(const std::string& header, std::size_t data_bytes) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data_bytes, '\x7F');
}

constexpr std::size_t kDataBytes = 26;

std::vector<std::string> examples() {
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]},)"
                             R"("c":{"dtype":"I64","shape":[0,9],"data_offsets":[26,26]}}  )";
  const std::string misaligned_header = R"({"x":{"dtype":"F16","shape":[8],"data_offsets":[3,19]},)"
                                        R"("y":{"dtype":"BOOL","shape":[1,3],"data_offsets":[0,3]},)"
                                        R"("z":{"dtype":"F4","shape":[2,7],"data_offsets":[19,26]}})";
  return {
      header,
      misaligned_header,
      safetensors_file(header, kDataBytes),
      safetensors_file(misaligned_header, kDataBytes),
      safetensors_file("{}", 0),
      R"({"hidden_size": 64, "n_layer": 3, "rope_theta": 10000.0, "rope_scaling": {"factor": 8, "type": "linear"},)"
      R"( "eos_token_id": [1, 2], "architectures": ["A", "B\u00e9"], "tie": true, "limit": [0.0, Infinity], "x": null})",
      R"({"rope_parameters": {"full": {"rope_theta": {"__float__": "-Infinity"}}}, "eos_token_id": 5, "n_embd": -1e3})",
  };
}

// Reads every byte, so that a sanitiser catches any out of bounds.
void read_tensors(const std::string& input) {
  const auto bytes = std::as_bytes(std::span(input));
  // A block of exactly this size: a std::string has spare bytes past its end.
  const std::shared_ptr<std::byte[]> owner(new std::byte[bytes.size()]);
  std::ranges::copy(bytes, owner.get());
  const auto file = SafetensorsFile::parse("input", {owner.get(), bytes.size()}, owner);
  std::size_t total = 0;
  for (const StoredTensor& tensor : file.tensors()) {
    total += tensor.bytes.size();
    volatile auto sum = std::accumulate(tensor.bytes.begin(), tensor.bytes.end(), 0u,
                                        [](unsigned s, std::byte b) { return s + std::to_integer<unsigned>(b); });
    static_cast<void>(sum);
    if (is_supported(tensor.type)) static_cast<void>(to_floats(tensor));
    if (file.find(tensor.name) != &tensor) throw std::logic_error("a tensor is not found by its name");
  }
  if (total > bytes.size()) throw std::logic_error("tensors hold more than the file");
}

// One of many attempts with the same input; continues after an Error.
template <class Read>
void attempt(const Read& read) {
  fuzz::try_input("", [&](const std::string&) { read(); });
}

void read_fields(const Config& config, int depth = 0) {
  for (const char* const key : {"hidden_size", "eos_token_id", "architectures", "tie", "rope_theta", "factor", "limit",
                                "rope_scaling.type", "rope_parameters.full.rope_theta"}) {
    attempt([&] { return config.integer({key, "n_layer"}, {.least = 1}); });
    attempt([&] { return config.find_number({key, "n_embd"}); });
    attempt([&] { return config.find_boolean(key); });
    attempt([&] { return config.text(key); });
    attempt([&] { return config.integers(key); });
    attempt([&] { return config.find_texts(key); });
  }
  if (depth < 3)
    for (const char* const key : {"rope_scaling", "rope_parameters", "full"})
      attempt([&] {
        if (const auto section = config.find_section(key)) read_fields(*section, depth + 1);
      });
}

}  // namespace
}  // namespace isentropic::checkpoint

int main(int count, char** arguments) {
  using namespace isentropic;
  return fuzz::run_for(count, arguments, fuzz::Mutator(checkpoint::examples()), [](const std::string& input) {
    using namespace checkpoint;
    if (!input.starts_with("{")) return read_tensors(input);
    // Also as the text of a header, with a matching length: damage inside it then gets further.
    attempt([&] { read_tensors(safetensors_file(input, kDataBytes)); });
    read_fields(Config::parse("input", input));
  });
}
