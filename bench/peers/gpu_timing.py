"""How the GPU scripts measure: calls captured as CUDA graphs that take turns, medians, tables, JSON."""

import contextlib
import gc
import json
import pathlib
import random
import statistics
import time

import torch

# A call that takes more seconds than this is timed once, uncaptured, lest it use up all of the time.
PATIENCE = 2.0

_side = None


def side_stream():
    """The stream on which graphs are prepared and captured: backward passes run on the stream of their forward pass."""
    global _side
    _side = _side or torch.cuda.Stream()
    return _side


class Work:
    """A call to time, made by ``prepare()``: a graph is replayed, unless eager calls are requested or capture fails."""

    def __init__(self, name, prepare, graphs=True, turn=0.02):
        self.name, self.how, self.times = name, "graph" if graphs else "eager", []
        self._stream = side_stream() if graphs else torch.cuda.current_stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            self._call = prepare()
            taken = seconds(self._call)
            if PATIENCE < taken < 5 * PATIENCE:  # the first call may compile and tune
                taken = seconds(self._call)
            if taken > PATIENCE:
                self.how, self.times = "called once", [taken * 1e3]
            else:
                self._run = self._capture() if graphs else self._call
                self._repeats = max(1, min(50, int(turn / seconds(self._run))))

    def _capture(self):
        self._call()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # a graph has its own memory
        self._graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self._graph, stream=self._stream):
                self._result = self._call()
            return self._graph.replay
        except Exception as error:
            print(f"  {self.name}: no graph ({str(error).splitlines()[0][:120]}); eager calls are timed")
            self.how = "eager"
            torch.cuda.synchronize()
            return self._call

    def turn(self):
        if self.how == "called once":
            return
        with torch.cuda.stream(self._stream):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(self._repeats):
                self._run()
            end.record()
            end.synchronize()
        self.times.append(begin.elapsed_time(end) / self._repeats)

    @property
    def milliseconds(self):
        return statistics.median(self.times)


def seconds(call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def measure(prepared, rounds, graphs=True, turn=0.02):
    """Milliseconds by name, medians of ``rounds`` turns of ``turn`` seconds each; works without memory or support are
    omitted."""
    gc.collect()
    torch.cuda.empty_cache()
    works = []
    for name, prepare in prepared.items():
        try:
            works.append(Work(name, prepare, graphs, turn))
        except (torch.OutOfMemoryError, NotImplementedError, RuntimeError) as error:
            print(f"  {name}: left out ({type(error).__name__}: {str(error).splitlines()[0][:120]})")
            torch.cuda.empty_cache()
    order = random.Random(1)
    for number in range(rounds + 1):
        order.shuffle(works)  # none should always follow the same one
        for work in works:
            work.turn()
            if number == 0 and work.how != "called once":
                work.times.clear()  # discard the warm-up
    for work in works:
        if work.how == "called once":
            print(f"  {work.name}: {work.milliseconds / 1e3:.1f} s, called once")
    found = {work.name: work.milliseconds for work in works}
    return {name: found[name] for name in prepared if name in found}


@contextlib.contextmanager
def deterministic():
    """Deterministic algorithms, without filling uninitialised memory (a debugging aid)."""
    fills = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = fills


def peak_bytes(call):
    """The peak memory of call() beyond what is allocated before it."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def table(columns, rows):
    """A Markdown table; numbers have about four digits."""
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_shown(row.get(column)) for column in columns) + " |", flush=True)
    print(flush=True)


def _shown(value):
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    digits = 3 if value < 10 else 2 if value < 100 else 1 if value < 1000 else 0
    return f"{value:.{digits}f}"


def write_json(path, script, results):
    if path:
        about = dict(script=script, device=torch.cuda.get_device_name(), torch=torch.__version__)
        pathlib.Path(path).write_text(json.dumps(about | results, indent=1) + "\n")


def introduce():
    """Describes the machine; exits if there is no GPU."""
    if not torch.cuda.is_available():
        raise SystemExit("no GPU")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}\n", flush=True)
