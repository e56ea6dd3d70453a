// isentropic bench attention: verifies, then times.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/attention_bench.hpp"
#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"

namespace isentropic::cli {
namespace {

struct BenchArguments {
  Outputs outputs;
  std::vector<std::string> lengths, sizes;
  std::string heads = "8", decode_keys = "131072", seconds = "0.5";
};

bench::Options options_of(const BenchArguments& arguments) {
  bench::Options out;
  out.heads = parse_integer("--heads", arguments.heads, 1, 1024);
  if (!arguments.lengths.empty()) out.lengths.clear();
  for (const std::string& n : arguments.lengths) out.lengths.push_back(parse_integer("--n", n, 1, 1 << 20));
  if (!arguments.sizes.empty()) out.sizes.clear();
  for (const std::string& d : arguments.sizes) out.sizes.push_back(parse_integer("--d", d, 1, 4096));
  out.decode_keys = parse_integer("--decode", arguments.decode_keys, 0, 1 << 24);
  out.seconds = parse_number("--seconds", arguments.seconds, 0, 3600);
  return out;
}

// One line per set of interleaved variants: the times of the others as ratios to the plain forward pass.
void show(const std::vector<bench::Timing>& timings) {
  const bench::Timing& plain = timings.front();
  fmt::print("{:>8} {:>6} {:>4} {:>6}  {:>8.1f} {:>8.1f} {:>6.2f}", plain.dtype, plain.n, plain.d,
             plain.causal ? "causal" : "full", plain.seconds * 1e3, plain.gflops, plain.peak_fraction);
  for (std::size_t v = 1; v < timings.size(); ++v) fmt::print(" {:>10.3f}", timings[v].seconds / plain.seconds);
  fmt::print(" {:>14.2f}", timings.back().peak_fraction);
  fmt::print("\n");
  std::fflush(stdout);
}

void show_decode(const bench::DecodeTiming& timing) {
  fmt::print("{:>8} {:>6} {:>4} {:>3}/{:<3} {:>8.2f} {:>8.1f} {:>14.2f}\n", timing.dtype, timing.n, timing.d,
             timing.heads, timing.kv_heads, timing.seconds * 1e3, timing.gigabytes_per_second, timing.read_fraction);
  std::fflush(stdout);
}

void run(const BenchArguments& arguments) {
  const bench::Options options = options_of(arguments);
  arguments.outputs.check();
  if (!arguments.outputs.shows_tables()) {
    const bench::Report result = bench::run(options);
    arguments.outputs.write({{}, [&] { return nlohmann::ordered_json(bench::json(result)); }});
    return;
  }
  fmt::print("{} heads; times of the plain forward pass, the others as ratios to it; fractions of the FMA peak\n\n",
             options.heads);
  fmt::print("{:>8} {:>6} {:>4} {:>6}  {:>8} {:>8} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>14}\n", "type", "n", "d",
             "mask", "ms", "GFLOP/s", "peak", "entropy", "all", "key groups", "stats only", "backward",
             "backward peak");
  bool first_decode = true;
  const bench::Report result = bench::run(options, {show, [&](const bench::DecodeTiming& timing) {
                                                      if (std::exchange(first_decode, false))
                                                        fmt::print(
                                                            "\ndecoding: one query per head, all statistics\n\n"
                                                            "{:>8} {:>6} {:>4} {:>7} {:>8} {:>8} {:>14}\n",
                                                            "type", "n", "d", "heads", "ms", "GB/s", "of a read loop");
                                                      show_decode(timing);
                                                    }});
  const auto last_line = [&] {
    return fmt::format("\n{} on {} threads, multiply-add peak {:.0f} GFLOP/s\n", result.isa, result.threads,
                       result.fma_peak_gflops);
  };
  arguments.outputs.write({last_line, [&] { return nlohmann::ordered_json(bench::json(result)); }});
}

}  // namespace

void add_bench(CLI::App& program) {
  CLI::App* bench = program.add_subcommand("bench", "Time the kernels, after verifying them");
  bench->require_subcommand(1);
  CLI::App* command = bench->add_subcommand("attention", "The attention call against the machine's multiply-add peak");
  const auto arguments = std::make_shared<BenchArguments>();
  command->add_option("--n", arguments->lengths, "lengths, separated by commas (512 to 16384)")
      ->type_name("N,...")
      ->delimiter(',');
  command->add_option("--d", arguments->sizes, "head sizes, separated by commas (64,128)")
      ->type_name("N,...")
      ->delimiter(',');
  command->add_option("--heads", arguments->heads, "heads")->type_name("N")->capture_default_str();
  command->add_option("--decode", arguments->decode_keys, "keys of the decoding cases; 0: none")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--seconds", arguments->seconds, "least time spent on each measurement")
      ->type_name("S")
      ->capture_default_str();
  arguments->outputs.offer_json(command, "write every timing");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
