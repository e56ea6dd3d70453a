"""What the monitor records about a model's attention, step by step."""

import copy
import csv
import gc
import math
import pathlib
import subprocess
import sys
import types
import weakref

import pytest
import torch
from torch import nn
from watched import BATCH, HEADS, LENGTH, Attention, Model, inputs, means, rows_of, tensors

import isentropic
from isentropic import _observe

pytestmark = pytest.mark.usefixtures("one_thread")


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


def test_an_empty_batch_adds_nothing():
    model = Model(Attention())
    with isentropic.Monitor(model) as monitor:
        for x in (inputs()[:0], inputs(), inputs()[:, :0]):
            model(x)
    rows = rows_of(model.layers[0], inputs())
    assert monitor.last["layers.0"]["entropy"] == pytest.approx(means(rows.entropy), rel=1e-6)


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
        model(inputs(seed=2))
    rows = rows_of(model.layers[0], inputs(seed=2))
    assert monitor.last["layers.0"]["entropy"] == pytest.approx(means(rows.entropy), rel=1e-6)


def test_a_copy_of_the_model_is_another_model():
    model = Model(Attention())
    with isentropic.Monitor(model) as monitor:
        copied = copy.deepcopy(model)
        model(inputs())
        monitor.step()
        copied(inputs())
        monitor.step()
        model(inputs())
    assert list(monitor.history) == [0, 2] and monitor.history[0] == monitor.history[2]


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
    with pytest.warns(UserWarning, match="no forward pass of it was seen"):
        monitor.stop()
    monitor.stop()
    model(inputs()).sum().backward()
    optimizer.step()
    assert monitor.history == {}
    hooks = [h for m in model.modules() for h in (*m._forward_hooks, *m._forward_pre_hooks)]
    assert hooks == [] and not optimizer._optimizer_step_post_hooks


@pytest.mark.parametrize("name, value", [("every", 0), ("fewest_keys", 1), ("keep", 0)])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}; expected at least"):
        isentropic.Monitor(nn.Identity(), **{name: value})


def test_the_optimizer_is_found_in_a_wrapper():
    model = Model(Attention())
    wrapper = types.SimpleNamespace(optimizer=torch.optim.SGD(model.parameters(), 0.1))
    with isentropic.Monitor(model, optimizer=wrapper) as monitor:
        for _ in range(2):
            model(inputs()).sum().backward()
            wrapper.optimizer.step()
    assert list(monitor.history) == [0, 1]
    with pytest.raises(TypeError, match="optimizer is a Model; expected one of torch.optim"):
        isentropic.Monitor(model, optimizer=model)


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


def test_a_page_of_the_run(tmp_path):
    torch.manual_seed(1)
    model = Model(Attention(soft_cap=2.0))
    with isentropic.Monitor(model, collapse=0.999) as monitor:
        for _ in range(3):
            model(inputs())
            monitor.step()
    assert monitor.alarms
    monitor.report(tmp_path / "run.html", name="a run")
    page = (tmp_path / "run.html").read_text()
    assert page.startswith("<!doctype html>") and "a run" in page and monitor.alarms[0].layer in page
    assert "least normalised entropy" in page and "largest score before the cap" in page
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
