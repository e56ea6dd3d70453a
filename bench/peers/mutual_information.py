"""KSG mutual information against scikit-learn's mutual_info_regression: same samples, one run, interleaved, medians.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install scikit-learn
    /tmp/peers/bin/python bench/peers/mutual_information.py build/bin/isentropic

Both estimates are compared before anything is timed. Ours is the time that `isentropic mi --json` reports for the
estimate, reading the file excluded; scikit-learn's is that of the call. scikit-learn works on one feature with one
thread, so ours is timed with one thread as well.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import sklearn
from sklearn.feature_selection import mutual_info_regression


# Runs a command and prints its peak memory. In a separate process: a child's peak starts from its parent's memory, and
# this process is large because of scikit-learn.
LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Ours:
    def __init__(self, program, path, k, threads):
        self.command = [program, "mi", path, "--x", "0", "--y", "1", "--estimator", "ksg1", "--k", str(k), "--json"]
        self.environment = dict(os.environ)
        if threads:
            self.environment["OMP_NUM_THREADS"] = str(threads)

    def run(self):
        """The result, and the peak memory of the process in MiB."""
        launched = [sys.executable, "-S", "-c", LAUNCHER, *self.command]
        done = subprocess.run(launched, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"isentropic mi failed: {done.stderr}")
        return json.loads(done.stdout), int(done.stderr.split()[-1]) / 1024


def draw(n, rho):
    random = numpy.random.default_rng(1)
    x = random.standard_normal(n)
    return numpy.column_stack([x, rho * x + math.sqrt(1 - rho * rho) * random.standard_normal(n)])


def theirs(samples, k):
    start = time.perf_counter()
    estimate = mutual_info_regression(samples[:, :1], samples[:, 1], n_neighbors=k, random_state=0)[0]
    return estimate, time.perf_counter() - start


def compare(program, folder, n, k, rounds):
    samples = draw(n, 0.75)
    path = os.path.join(folder, f"gaussian_{n}.npy")
    numpy.save(path, samples)
    one, all_threads = Ours(program, path, k, 1), Ours(program, path, k, None)
    estimate, memory = one.run()
    expected, _ = theirs(samples, k)
    # scikit-learn adds noise of 1e-10 to the samples.
    if abs(estimate["nats"] - expected) > 1e-5:
        sys.exit(f"n = {n}: ours {estimate['nats']}, scikit-learn {expected}: not the same estimate")
    times = {"one": [], "all": [], "sklearn": []}
    for _ in range(rounds):
        times["one"].append(one.run()[0]["seconds"])
        times["sklearn"].append(theirs(samples, k)[1])
        times["all"].append(all_threads.run()[0]["seconds"])
    ratio = lambda name: statistics.median(s / o for s, o in zip(times["sklearn"], times[name]))
    median = {name: statistics.median(values) for name, values in times.items()}
    print(
        f"{n:>9} {estimate['nats']:>9.6f} {median['sklearn']:>12.3f} {median['one']:>9.3f} {median['all']:>9.3f}"
        f" {ratio('one'):>10.1f} {ratio('all'):>11.1f} {memory:>11.0f}",
        flush=True,
    )
    return median["one"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/bin/isentropic")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    arguments = parser.parse_args()
    print(f"scikit-learn {sklearn.__version__}, {os.cpu_count()} cores, k = {arguments.k}, correlation 0.75; seconds")
    print(
        f"\n{'n':>9} {'nats':>9} {'scikit-learn':>12} {'1 thread':>9} {'all':>9} {'x faster 1':>10} {'x faster all':>11}"
        f" {'peak MiB':>11}"
    )
    with tempfile.TemporaryDirectory() as folder:
        seconds = {n: compare(arguments.program, folder, n, arguments.k, arguments.rounds) for n in arguments.sizes}
    sizes = sorted(seconds)
    for small, large in zip(sizes, sizes[1:]):
        exponent = math.log(seconds[large] / seconds[small]) / math.log(large / small)
        print(f"growth from {small} to {large}, one thread: time ~ n^{exponent:.2f}")


if __name__ == "__main__":
    main()
