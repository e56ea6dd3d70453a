"""Observers, the monitor, and PyTorch's attention routed to this library."""

import csv
import gc
import math
import pathlib
import subprocess
import sys
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import isentropic
from isentropic import _observe

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 24, 12


class Attention(nn.Module):
    """Causal self-attention; ``options`` go to every one of its ``calls``."""

    def __init__(self, calls=1, **options):
        super().__init__()
        self.projections = nn.Linear(WIDTH, 3 * WIDTH)
        self.calls = calls
        self.options = options

    def project(self, x):
        heads = self.projections(x).unflatten(-1, (3, HEADS, -1))
        return heads.permute(2, 0, 3, 1, 4)

    def forward(self, x):
        for _ in range(self.calls):
            y = isentropic.attention(*self.project(x), is_causal=True, **self.options)
            x = x + y.transpose(1, 2).flatten(2)
        return x


class Model(nn.Module):
    def __init__(self, *layers, checkpointed=None):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.checkpointed = checkpointed

    def forward(self, x):
        for layer in self.layers:
            # What follows attention makes checkpointing repeat all of it.
            part = nn.Sequential(layer, nn.Tanh())
            x = part(x) if self.checkpointed is None else checkpoint(part, x, use_reentrant=self.checkpointed)
        return x


class Watcher:
    def __init__(self, *statistics):
        self.statistics = statistics if statistics != ("all",) else "all"
        self.reports = []

    def report(self, aux):
        self.reports.append(aux)

    def __enter__(self):
        _observe.watch(self)
        return self

    def __exit__(self, *_):
        _observe.unwatch(self)


pytestmark = pytest.mark.usefixtures("one_thread")


def inputs(seed=1):
    return torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(seed))


def tensors():
    return [torch.randn(BATCH, HEADS, LENGTH, 4, requires_grad=True) for _ in range(3)]


def masks(seed=2):
    return torch.randn(BATCH, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(seed))


def rows_of(layer, x, statistics="all", **options):
    """The statistics that the layer's attention has, computed directly."""
    with torch.no_grad():
        query, key, _ = layer.project(x)
        return isentropic.attention_statistics(query, key, is_causal=True, statistics=statistics, **options)


def means(rows, kept=slice(None)):
    return rows[..., kept].double().mean((0, 2)).tolist()


# ---- observers ----


def test_the_caller_gets_what_it_asked_for():
    q, k, v = tensors()
    alone, alone_aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
    with Watcher("peak", "visible") as watcher:
        watched, aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
        plain = isentropic.attention(q, k, v)
    assert torch.equal(watched, alone) and torch.equal(plain, alone)
    assert aux.as_dict().keys() == {"entropy"}
    assert torch.equal(aux.entropy, alone_aux.entropy)
    assert [report.as_dict().keys() for report in watcher.reports] == [{"peak", "visible"}] * 2
    (alone.sum() + alone_aux.entropy.square().sum()).backward()
    expected = [t.grad for t in (q, k, v)]
    q.grad = k.grad = v.grad = None
    (watched.sum() + aux.entropy.square().sum()).backward()
    assert all(torch.equal(t.grad, grad) for t, grad in zip((q, k, v), expected))


def test_observers_get_detached_statistics():
    q, k, v = tensors()
    with Watcher("entropy") as watcher:
        _, aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
    assert aux.entropy.requires_grad
    assert not watcher.reports[0].entropy.requires_grad
    assert torch.equal(watcher.reports[0].entropy, aux.entropy)


def test_nobody_is_told_after_the_end():
    q, k, v = tensors()
    with Watcher("entropy") as watcher:
        pass
    isentropic.attention(q, k, v)
    assert not watcher.reports and not _observe.is_watched()


def test_statistics_that_a_call_does_not_have_are_left_out():
    q, k, v = tensors()
    wanted = ("entropy", "sink_mass", "log_partition", "first_mass")
    with Watcher(*wanted) as watcher:
        isentropic.attention(q, k, v)
        isentropic.attention(q, k, v, sink=torch.zeros(HEADS))
        isentropic.attention(q, k, v, map="sigmoid")
        isentropic.attention(q, k, v, map="sparsemax")
        isentropic.attention(q, k, v, groups=(4, 8), return_aux=True)
    found = [set(report.as_dict()) for report in watcher.reports]
    softmax = {"entropy", "log_partition", "first_mass"}
    assert found == [softmax, set(wanted), set(), {"entropy"}, softmax - {"first_mass"}]


def test_wanting_all_is_wanting_what_the_caller_would_get():
    q, k, v = tensors()
    with Watcher("all") as watcher:
        isentropic.attention(q, k, v)
    aux = isentropic.attention(q, k, v, return_aux=True)[1]
    assert watcher.reports[0].as_dict().keys() == aux.as_dict().keys()


def test_statistics_alone_are_not_a_call():
    q, k, _ = tensors()
    with Watcher("entropy") as watcher:
        isentropic.attention_statistics(q, k)
    assert not watcher.reports


# ---- what the monitor records ----


def test_means_over_batch_and_rows_of_every_head():
    layer = Attention()
    monitor = isentropic.Monitor(Model(layer), fewest_keys=5, first_mass=True)
    with monitor:
        monitor._model(inputs())
    rows = rows_of(layer, inputs(), groups=(1, 8))
    record = monitor.last["layers.0"]
    for name in ("entropy", "effective_keys", "peak", "first_mass"):
        assert record[name] == pytest.approx(means(getattr(rows, name)), rel=1e-6), name
    assert record["normalised_entropy"] == pytest.approx(means(rows.normalised_entropy, slice(4, None)), rel=1e-6)
    assert record["max_score"] == rows.max_score.amax((0, 2)).tolist()
    assert "sink_mass" not in record


def test_sink_mass_comes_with_sinks_and_first_mass_on_demand_only():
    model = Model(Attention(sink=torch.tensor([0.0, 1.0, -1.0])))
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    rows = rows_of(model.layers[0], inputs(), sink=torch.tensor([0.0, 1.0, -1.0]))
    assert monitor.last["layers.0"]["sink_mass"] == pytest.approx(means(rows.sink_mass), rel=1e-6)
    assert "first_mass" not in monitor.last["layers.0"]


def test_rows_without_keys_do_not_count():
    seen = torch.ones(BATCH, 1, 1, LENGTH, dtype=torch.bool)
    seen[1, ..., :10] = False  # left padding: the first ten causal rows see nothing
    layer = Attention()
    layer.forward = lambda x: isentropic.attention(*layer.project(x), attn_mask=seen, causal="start")
    with isentropic.Monitor(Model(layer)) as monitor:
        monitor._model(inputs())
    with torch.no_grad():
        query, key, _ = layer.project(inputs())
        rows = isentropic.attention_statistics(query, key, attn_mask=seen, causal="start")
    expected = [rows.entropy[:, h].double().sum().item() / (2 * LENGTH - 10) for h in range(HEADS)]
    assert monitor.last["layers.0"]["entropy"] == pytest.approx(expected, rel=1e-6)
    assert all(map(math.isfinite, monitor.last["layers.0"]["max_score"]))


def test_layers_calls_and_the_model_itself_have_names():
    model = Model(Attention(), nn.Sequential(Attention(calls=2)))
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    assert list(monitor.last) == ["layers.0", "layers.1.0", "layers.1.0#2"]
    alone = Attention()
    with isentropic.Monitor(alone) as monitor:
        alone(inputs())
    assert list(monitor.last) == ["Attention"]


def test_attention_outside_of_the_model_is_not_its_own():
    model, other = Model(Attention()), Attention()
    with isentropic.Monitor(model) as monitor:
        other(inputs())
    assert monitor.last == {}


def test_a_forward_that_fails_leaves_no_trace_on_names():
    model = Model(Attention(), nn.Identity())
    with isentropic.Monitor(model) as monitor:
        model.layers[1].forward = lambda x: 1 / 0
        with pytest.raises(ZeroDivisionError):
            model(inputs())
        isentropic.attention(*tensors())
        del model.layers[1].forward
        model(inputs())
    assert list(monitor.last) == ["layers.0"]


def test_maps_without_an_entropy_are_recorded_without_it():
    model = Model(Attention(map="sigmoid"))
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    assert set(monitor.last["layers.0"]) == {"peak", "max_score"}
    assert not monitor.alarms


# ---- steps ----


def test_micro_batches_of_one_step_count_together():
    model = Model(Attention())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with isentropic.Monitor(model, optimizer=optimizer) as monitor:
        for _ in range(3):
            for micro_batch in (1, 2):
                model(inputs(micro_batch)).sum().backward()
            optimizer.step()
    assert list(monitor.history) == [0, 1, 2]
    both = torch.cat([inputs(1), inputs(2)])
    rows = rows_of(model.layers[0], both)
    assert monitor.last["layers.0"]["entropy"] == pytest.approx(means(rows.entropy), rel=1e-6)
    assert monitor.last["layers.0"]["max_score"] == rows.max_score.amax((0, 2)).tolist()
    optimizer.step()
    assert list(monitor.history) == [0, 1, 2]


def test_only_every_third_step_is_watched():
    model = Model(Attention())
    with isentropic.Monitor(model, every=3) as monitor:
        for step in range(7):
            assert _observe.is_watched() == (step % 3 == 0)
            model(inputs())
            monitor.step()
    assert list(monitor.history) == [0, 3, 6]
    assert not _observe.is_watched()


def test_the_oldest_steps_are_forgotten():
    model = Model(Attention())
    with isentropic.Monitor(model, keep=2) as monitor:
        for _ in range(4):
            model(inputs())
            monitor.step()
    assert list(monitor.history) == [2, 3]


@pytest.mark.parametrize("reentrant", [False, True])
def test_repeated_forwards_of_checkpointing_are_not_counted(reentrant):
    model = Model(Attention(), Attention(), checkpointed=reentrant)
    with isentropic.Monitor(model) as monitor:
        model(inputs().requires_grad_()).sum().backward()
        rows = {layer: tally["rows"].tolist() for layer, tally in monitor._tallies.items()}
    assert rows == {"layers.0": [BATCH * LENGTH] * HEADS, "layers.1": [BATCH * LENGTH] * HEADS}


class Saved:
    """Lives as long as the graph that saved its tensor."""

    def __init__(self, tensor):
        self.tensor = tensor.detach()  # the graph must not hold itself


def test_nothing_of_the_graph_is_kept():
    model = Model(Attention())
    saved = weakref.WeakSet()

    def save(tensor):
        box = Saved(tensor)
        saved.add(box)
        return box

    with isentropic.Monitor(model) as monitor, torch.autograd.graph.saved_tensors_hooks(save, lambda box: box.tensor):
        output = model(inputs())
        assert saved
        del output
        gc.collect()
        assert not saved
        tallies = [value for tally in monitor._tallies.values() for value in tally.values()]
    assert all(value.shape == (HEADS,) and not value.requires_grad for value in tallies)


def test_watching_under_inference_mode_and_outside_of_it():
    model = Model(Attention())
    with isentropic.Monitor(model) as monitor:
        with torch.inference_mode():
            model(inputs())
        model(inputs()).sum().backward()
    assert list(monitor.history) == [0]


def test_stopping_leaves_the_model_as_it_was():
    model = Model(Attention())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    monitor = isentropic.Monitor(model, optimizer=optimizer).start()
    with pytest.raises(RuntimeError, match="watching already"):
        monitor.start()
    monitor.stop()
    monitor.stop()
    model(inputs()).sum().backward()
    optimizer.step()
    assert monitor.history == {}
    hooks = [h for m in model.modules() for h in (*m._forward_hooks, *m._forward_pre_hooks)]
    assert hooks == [] and not optimizer._optimizer_step_post_hooks


def test_compiled_modules_are_pointed_out():
    model = Model(Attention())
    model.layers[0].compile(backend="eager")
    with pytest.warns(UserWarning, match="'layers.0' is compiled"), isentropic.Monitor(model) as monitor:
        model(inputs())
    assert monitor.last == {}


@pytest.mark.parametrize("name, value", [("every", 0), ("fewest_keys", 1), ("keep", 0)])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}; expected at least"):
        isentropic.Monitor(nn.Identity(), **{name: value})


# ---- alarms ----


class Sharp(Attention):
    """Heads that see one key, all keys alike, and as the weights will."""

    def project(self, x):
        query, key, value = super().project(x)
        factor = torch.tensor([300.0, 0.0, 1.0])[:, None, None]
        return query * factor, key, value


def test_alarms_say_which_head():
    calls = []
    model = Model(Attention(), Sharp())
    with isentropic.Monitor(model, on_alarm=calls.append) as monitor:
        monitor.step()
        model(inputs())
    assert [(a.kind, a.layer, a.head, a.step) for a in monitor.alarms if a.layer == "layers.1" and a.head < 2] == [
        ("collapse", "layers.1", 0, 1),
        ("dispersion", "layers.1", 1, 1),
    ]
    for alarm in monitor.alarms:
        assert alarm.value == monitor.last[alarm.layer]["normalised_entropy"][alarm.head]
        assert (alarm.value < 0.05) if alarm.kind == "collapse" else (alarm.value > 0.99)
    assert calls == monitor.alarms
    collapse = next(alarm for alarm in monitor.alarms if alarm.kind == "collapse")
    assert str(collapse).startswith("collapse: layers.1 head 0 has normalised entropy 0.0")


def test_an_alarm_comes_once_until_the_head_recovers():
    model = Model(Sharp())
    with isentropic.Monitor(model, dispersion=None) as monitor:
        for scale in (1.0, 1.0, 0.0, 1.0):
            model(inputs() * scale)
            monitor.step()
    assert [(a.kind, a.head, a.step) for a in monitor.alarms] == [("collapse", 0, 0), ("collapse", 0, 3)]


def test_short_rows_raise_no_alarm():
    model = Model(Attention())
    with isentropic.Monitor(model, fewest_keys=LENGTH + 1) as monitor:
        model(inputs())
    assert all(map(math.isnan, monitor.last["layers.0"]["normalised_entropy"]))
    assert not monitor.alarms


# ---- results ----


def test_scalars_are_flat():
    model = Model(Attention())
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    scalars = monitor.scalars()
    assert scalars["attention/layers.0/head2/entropy"] == monitor.last["layers.0"]["entropy"][2]
    assert len(scalars) == HEADS * len(monitor.last["layers.0"])
    assert all(type(value) is float for value in scalars.values())


def test_csv_has_a_line_for_every_step_layer_and_head(tmp_path):
    model = Model(Attention(), Attention(map="sigmoid"))
    with isentropic.Monitor(model) as monitor:
        for seed in (1, 2):
            model(inputs(seed))
            monitor.step()
    path = tmp_path / "attention.csv"
    path.write_text("older")
    monitor.to_csv(path)
    assert [file.name for file in tmp_path.iterdir()] == ["attention.csv"]
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 * HEADS
    line = lines[2 * HEADS + 1]
    assert (line["step"], line["layer"], line["head"]) == ("1", "layers.0", "1")
    assert float(line["entropy"]) == monitor.history[1]["layers.0"]["entropy"][1]
    assert lines[HEADS]["layer"] == "layers.1" and lines[HEADS]["entropy"] == "" and lines[HEADS]["peak"] != ""


# ---- PyTorch's attention ----


@pytest.mark.parametrize("options", [
    {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": masks()[0, 0] > 0}, {"attn_mask": masks()},
], ids=["plain", "causal", "scale", "boolean", "additive"])  # fmt: skip
def test_replaced_attention_agrees_with_pytorch(options):
    q, k, v = tensors()
    expected = F.scaled_dot_product_attention(q, k, v, **options)
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = F.scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-5)
    assert len(watcher.reports) == 1
    with Watcher("entropy") as watcher:
        F.scaled_dot_product_attention(q, k, v, **options)
    assert not watcher.reports


def test_replaced_attention_knows_grouped_heads():
    q = torch.randn(BATCH, 6, LENGTH, 4)
    k, v = torch.randn(2, BATCH, 2, LENGTH, 4)
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    assert watcher.reports[0].entropy.shape == (BATCH, 6, LENGTH)


def test_what_has_no_kernel_is_left_to_pytorch():
    shapes = [(1, 2, 4, 8)] * 3
    cases = [
        [torch.randn(shape, device="meta") for shape in shapes],
        [torch.randn(4, 8) for _ in shapes],
        [torch.randn(2, 2, 4, 8), torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)],
        [torch.randn(1, 2, 0, 8), torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)],
        [*(torch.randn(shape) for shape in shapes), torch.ones(4, 4, dtype=torch.bool), 0.0, True],
    ]
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = [F.scaled_dot_product_attention(*case) for case in cases]
        with pytest.raises(RuntimeError):
            F.scaled_dot_product_attention(*(torch.ones(1, 2, 4, 8, dtype=torch.int64) for _ in range(3)))
    assert [list(output.shape) for output in found] == [list(case[0].shape) for case in cases]
    assert not watcher.reports


def test_pytorch_layers_can_be_watched():
    layer = nn.TransformerEncoderLayer(d_model=WIDTH, nhead=HEADS, dim_feedforward=16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False).train()
    expected = model(inputs())
    with isentropic.replace_sdpa(), isentropic.Monitor(model) as monitor:
        found = model(inputs())
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-5)
    assert list(monitor.last) == ["layers.0.self_attn", "layers.1.self_attn"]
    assert len(monitor.last["layers.0.self_attn"]["entropy"]) == HEADS
    assert F.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention


# ---- the example ----


def test_the_example_raises_its_alarm():
    root = pathlib.Path(__file__).parents[2]
    package = pathlib.Path(isentropic.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, root / "examples" / "monitor_collapse.py"],
        capture_output=True, text=True, timeout=120, env={"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ALARM collapse: blocks.1.attention head 2" in run.stdout
