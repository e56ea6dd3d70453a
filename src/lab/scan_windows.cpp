// Cuts texts into windows.
#include "lab/scan_windows.hpp"

#include <algorithm>
#include <limits>

#include "isentropic/error.hpp"

namespace isentropic::lab {

std::int64_t tokens_around(const ScanOptions& options) {
  return static_cast<std::int64_t>(options.prefix.size() + options.suffix.size());
}

std::vector<std::int32_t> window_of(const ScanText& text, std::int64_t from, std::int64_t length,
                                    const ScanOptions& options) {
  std::vector<std::int32_t> out = options.prefix;
  const auto begin = text.ids.begin() + from;
  out.insert(out.end(), begin, begin + (length - tokens_around(options)));
  out.insert(out.end(), options.suffix.begin(), options.suffix.end());
  return out;
}

std::int64_t windows_of(const ScanText& text, const ScanOptions& options) {
  return static_cast<std::int64_t>(text.ids.size()) / (options.length - tokens_around(options));
}

std::vector<std::int32_t> window_number(std::int64_t number, const ScanText& text, const ScanOptions& options) {
  return window_of(text, number * (options.length - tokens_around(options)), options.length, options);
}

std::int64_t length_windows(const ScanText& first, const ScanOptions& options) {
  const std::int64_t longest = options.lengths.back() - tokens_around(options);
  return std::min<std::int64_t>(4, static_cast<std::int64_t>(first.ids.size()) / longest);
}

std::vector<std::int32_t> length_window(std::int64_t number, const ScanText& first, std::int64_t length,
                                        const ScanOptions& options) {
  const std::int64_t around = tokens_around(options), end = (number + 1) * (options.lengths.back() - around);
  return window_of(first, end - (length - around), length, options);
}

std::int64_t compared_tokens(const ScanOptions& options) {
  return std::max<std::int64_t>(1, options.lengths.front() / 2);
}

void check_lengths(const std::vector<ScanText>& texts, const ScanOptions& options) {
  std::int64_t longest = options.length;
  for (const std::int64_t length : options.lengths) longest = std::max(longest, length);
  for (const ScanText& text : texts) {
    if (text.ids.empty()) throw Error("text " + text.name, "without tokens", "some");
    const std::int64_t there = static_cast<std::int64_t>(text.ids.size()) + tokens_around(options);
    if (there < longest)
      throw Error("text " + text.name, std::to_string(there) + " tokens long",
                  "at least " + std::to_string(longest) + ", the length of a window");
  }
}

at::Tensor batch_of(const std::vector<std::int32_t>& ids, at::Device device) {
  return at::tensor(std::vector<std::int64_t>(ids.begin(), ids.end()), at::kLong).unsqueeze(0).to(device);
}

bool predicts_next_token(const model::Transformer& model) {
  return model.description().head == model::Head::linear && model.description().causal;
}

double loss_of(const model::Transformer& model, const at::Tensor& hidden, const at::Tensor& ids, std::int64_t scored) {
  if (!predicts_next_token(model)) return std::numeric_limits<double>::quiet_NaN();
  const std::int64_t first = ids.size(1) - 1 - scored;
  return model.token_losses(hidden.narrow(1, first, scored), ids.narrow(1, first + 1, scored))
      .to(at::kDouble)
      .mean()
      .item<double>();
}

}  // namespace isentropic::lab
