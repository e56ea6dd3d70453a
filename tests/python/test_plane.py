"""isentropic plane and isentropic.InformationPlane: which layers compress, resumed runs, bad files."""

import json
import pathlib
import struct
import xml.etree.ElementTree as ElementTree
import zlib

import numpy
import pytest
import scipy.io
import torch
from torch import nn

import isentropic
from program import Command, check_resumes, contents

run = Command("plane")
IBSGD = pathlib.Path(__file__).parents[3] / "shared" / "data" / "ibsgd" / "var_u.mat"
QUICK = ["--epochs", 6, "--seeds", 2, "--estimators", "exact,width:0.5"]


def drops(found, estimator):
    return {phase["layer"]: phase for phase in found["phases"] if phase["estimator"] == estimator}


# ---- the command's findings ----


@pytest.fixture(scope="module")
def short_runs(tmp_path_factory):
    """Networks with both kinds of units, trained until they know the rule."""
    folder = tmp_path_factory.mktemp("runs")
    options = "--optimiser adam --epochs 300 --estimators exact,width:0.5 --json".split()
    seeds = {"tanh": 6, "relu": 3}  # with only three tanh networks, layer 4's drop is within their spread
    return {
        unit: json.loads(run("-o", folder / unit, "--activation", unit, "--seeds", count, *options).stdout)
        for unit, count in seeds.items()
    }


def test_bins_of_a_width_see_tanh_compress_and_relu_not(short_runs):
    tanh, relu = drops(short_runs["tanh"], "width:0.5"), drops(short_runs["relu"], "width:0.5")
    for layer in ("layer 1", "layer 2", "layer 3", "layer 4"):
        assert tanh[layer]["compresses"], tanh[layer]
        assert not relu[layer]["compresses"], relu[layer]
        assert tanh[layer]["drop"] > relu[layer]["drop"] + 0.2


def test_exact_information_obeys_data_processing(short_runs):
    for found in short_runs.values():
        rises = {rise["estimator"]: rise for rise in found["rises_with_depth"]}
        assert rises["exact"]["compared"] > 300 and rises["exact"]["risen"] == 0
        assert found["warnings"] == []
    for phase in drops(short_runs["tanh"], "exact").values():
        assert phase["start"] == phase["end"] == pytest.approx(12) and not phase["compresses"]


def test_information_about_the_label_is_below_that_about_the_input(short_runs):
    for found in short_runs.values():
        for moment in found["moments"]:
            for estimator, layers in moment["label_bits"].items():
                label, both = torch.tensor(layers), torch.tensor(moment["input_bits"][estimator])
                assert (label <= both + 1e-9).all() and (label <= found["label_bits"] + 1e-9).all()
        last = found["moments"][-1]
        assert min(last["train_accuracy"]) > 0.8
        assert len(last["test_accuracy"]) == found["options"]["seeds"]


def test_bins_see_linear_layers_compress_that_keep_everything_and_fit_nothing(tmp_path):
    """No linear function of the bits determines the label. Weights of the later layers shrink, which fixed-width bins
    detect, and they align in one direction, which bins over the layer's own range detect as well."""
    options = (
        "--activation linear --optimiser adam --epochs 1000 --seeds 3 --estimators exact,width:0.5,count:30 --json"
    )
    found = json.loads(run("-o", tmp_path / "linear", *options.split()).stdout)
    last = found["moments"][-1]
    assert max(last["train_accuracy"] + last["test_accuracy"]) < 0.6
    for phase in drops(found, "exact").values():
        assert phase["start"] == phase["end"] == pytest.approx(12)
    assert torch.tensor(last["label_bits"]["exact"]).min() == pytest.approx(found["label_bits"])
    width, count = drops(found, "width:0.5"), drops(found, "count:30")
    for layer in ("layer 3", "layer 4", "layer 5"):
        assert width[layer]["compresses"] and width[layer]["drop"] > 1, width[layer]
    for layer in ("layer 4", "layer 5"):
        assert count[layer]["compresses"] and count[layer]["drop"] > 0.8, count[layer]
    for layer in ("layer 1", "layer 2"):
        assert not count[layer]["compresses"], count[layer]


# ---- the folder ----


def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path):
    options = ["--epochs", 300, "--optimiser", "adam", "--noise", 0.1, "--seeds", 2, "--estimators", "width:0.5"]
    check_resumes(run, tmp_path, options)


def test_the_folder_holds_log_picture_and_page(tmp_path):
    text = run("-o", tmp_path / "out", *QUICK).stdout
    assert "exact sees no layer compress." in text and "accuracy: training" in text
    assert sorted(contents(tmp_path / "out")) == sorted(
        ["log.jsonl", "page.html", "plane.svg", "results.json", "state.safetensors", "study.json"]
    )
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1, 2, 3, 4, 5, 6]
    before = contents(tmp_path / "out")
    run("-o", tmp_path / "out", *QUICK, "--overwrite")
    assert contents(tmp_path / "out") == before
    run("-o", tmp_path / "out", *QUICK, "--overwrite", "--seed", 2)
    assert contents(tmp_path / "out")["log.jsonl"] != before["log.jsonl"]


# ---- files ----


def matlab_matrix(name, rows, columns, numbers):
    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    body = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", rows, columns))
    body += element(1, name) + element(9, struct.pack(f"<{len(numbers)}d", *numbers))
    packed = zlib.compress(element(14, body))
    return struct.pack("<II", 15, len(packed)) + packed


MATLAB_HEADER = b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
BITS = [[i >> bit & 1 for i in range(64)] for bit in range(6)]  # column-major
PARITY = [sum(row) % 2 for row in zip(*BITS)]
TABLE = "".join(",".join(map(str, row)) + "\n" for row in zip(*BITS, PARITY))


def test_matlab_files_and_tables_hold_the_same_task(tmp_path):
    matlab, table = tmp_path / "task.mat", tmp_path / "task.csv"
    inputs = matlab_matrix(b"F", 64, 6, sum(BITS, []))
    matlab.write_bytes(MATLAB_HEADER + inputs + matlab_matrix(b"y", 1, 64, PARITY))
    table.write_text(TABLE)
    run(matlab, "-o", tmp_path / "a", *QUICK)
    run(table, "-o", tmp_path / "b", *QUICK)
    found, log = (json.loads((tmp_path / "a" / "results.json").read_text()), (tmp_path / "a" / "log.jsonl").read_text())
    assert found["input_bits"] == pytest.approx(6) and found["label_bits"] == pytest.approx(1)
    assert log and log == (tmp_path / "b" / "log.jsonl").read_text()
    table.write_text(table.read_text().replace("0\n", "1\n", 1))
    assert "not what it was" in run("-o", tmp_path / "b", "--resume", status=1).stderr


def test_networks_learn_the_task_of_a_published_file(tmp_path):
    if not IBSGD.exists():
        pytest.skip(f"{IBSGD} is not here")
    options = "--optimiser adam --epochs 30 --seeds 2 --estimators exact --json".split()
    found = json.loads(run(IBSGD, "-o", tmp_path / "matlab", *options).stdout)
    assert found["input_bits"] == pytest.approx(12) and found["label_bits"] == pytest.approx(0.999157, abs=1e-6)
    assert min(found["moments"][0]["train_accuracy"]) < 0.6 < 0.8 < min(found["moments"][-1]["train_accuracy"])
    # As read by SciPy.
    file, table = scipy.io.loadmat(IBSGD), tmp_path / "task.csv"
    numpy.savetxt(table, numpy.column_stack([file["F"], file["y"].ravel()]), fmt="%g", delimiter=",")
    assert json.loads(run(table, "-o", tmp_path / "table", *options).stdout)["moments"] == found["moments"]


def test_attention_keeps_its_input_unless_noise_limits_it(tmp_path):
    table = tmp_path / "task.csv"
    table.write_text(TABLE)
    options = [table, "--network", "attention", "--blocks", 2, "--epochs", 6, "--seeds", 2, "--json"]
    found = json.loads(run("-o", tmp_path / "soft", *options).stdout)
    layers = ["embedding", "block 1 attention", "block 1", "block 2 attention", "block 2", "mean of tokens"]
    assert found["layers"] == layers
    assert all(drops(found, "exact")[layer]["end"] == pytest.approx(6) for layer in layers)
    assert [rise["risen"] for rise in found["rises_with_depth"] if rise["estimator"] == "exact"] == [0]
    hard = json.loads(run("-o", tmp_path / "hard", *options, "--top-k", 1).stdout)
    assert hard["moments"][0]["input_bits"] != found["moments"][0]["input_bits"]
    noisy = json.loads(run("-o", tmp_path / "noisy", *options, "--noise", 2).stdout)
    assert "noise:4" in noisy["estimators"] and "noise:0.1" not in noisy["estimators"]
    assert drops(noisy, "noise:4")["block 2"]["end"] < 4 < drops(found, "noise:0.1")["block 2"]["end"]


def test_bad_files_are_said_in_one_line(tmp_path):
    inputs, label = matlab_matrix(b"F", 64, 6, sum(BITS, [])), matlab_matrix(b"y", 1, 64, PARITY)
    files = {
        "truncated.mat": ((MATLAB_HEADER + inputs + label)[:-30], "truncated or damaged"),
        "other.mat": (b"\x93NUMPY".ljust(300), "expected a MATLAB file of version 5"),
        "unlabelled.mat": (MATLAB_HEADER + inputs, "without a label for each row"),
        "no_inputs.mat": (MATLAB_HEADER + label, "without a matrix of inputs"),
        "one_column.csv": (b"1\n0\n" * 20, "of one column; expected inputs and, in the last column, a label"),
        "one_class.csv": (b"1,0\n2,0\n" * 20, "of 1 values; expected 2 to 1000"),
        "short.csv": (b"1,0\n2,1\n", "of 2 rows; expected at least 10"),
        "ragged.csv": (b"1,2,0\n1,1\n" * 20, "ragged.csv"),
    }
    for name, (data, message) in files.items():
        (tmp_path / name).write_bytes(data)
        lines = run(tmp_path / name, "-o", tmp_path / "out", *QUICK, status=1).stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("isentropic: ") and message in lines[0], (name, lines)
    for name in ("none.mat", "none.csv"):
        assert "missing" in run(tmp_path / name, "-o", tmp_path / "out", *QUICK, status=1).stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--activation", "gelu"], "activation is 'gelu'; expected tanh, relu or linear"),
        (["--optimiser", "lion"], "optimiser is 'lion'; expected sgd or adam"),
        (["--network", "rnn"], "network is 'rnn'; expected mlp or attention"),
        (["--top-k", 3], "top-k is 3; expected none without attention"),
        (["--estimators", "width"], "estimator is 'width'; expected one of exact, width:0.5"),
        (["--device", "cuda:9"], "device is 'cuda:9'; expected cpu"),
        (["--resume", "--overwrite"], "--resume is given with --overwrite"),
        (["--layers", "3,0"], "--layers"),
        (["--estimators", "width:0.5,width:0.50"], "estimator is 'width:0.5' twice; expected each once"),
        (["--noise", "nan"], "--noise: Value nan not in range"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path, options, message):
    lines = run("-o", tmp_path / "out", *options, status=2).stderr.splitlines()
    assert len(lines) == 1 and message in lines[0]
    assert not (tmp_path / "out").exists()


# ---- a user's own network ----


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x, None


def small_network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2), Twice())


def test_a_plane_records_the_layers_of_any_network(tmp_path):
    model = small_network()
    model[1].eval()  # modes are restored individually
    inputs, labels = torch.tensor(BITS).T.float(), torch.tensor(PARITY)
    model[4].register_forward_hook(lambda module, _, output: output[0])
    plane = isentropic.InformationPlane(model, layers=["1", "3", "4"])
    for _ in range(3):
        plane.record(inputs, labels)
        with torch.no_grad():
            model[0].weight.mul_(4)
    assert [module.training for module in model] == [True, False, True, True, True]
    assert [moment["epoch"] for moment in plane.data["moments"]] == [0, 1, 2]
    assert plane.data["input_bits"] == pytest.approx(6) and plane.data["label_bits"] == pytest.approx(1)
    table = plane.table()
    assert len(table["epoch"]) == 3 * len(plane.data["estimators"]) * 3 and table["layer"][:3] == ["1", "3", "4"]
    assert table["input_bits"][0] == pytest.approx(6)  # exact
    seen = {(p["estimator"], p["layer"]): p for p in plane.findings()["phases"]}
    assert seen["width:0.5", "1"]["drop"] > 0.3 > seen["exact", "1"]["drop"]  # tanh saturates
    plane.save(tmp_path / "plane.html")
    assert (tmp_path / "plane.html").read_text() == plane.page()
    plane.save(tmp_path / "plane.json")
    assert json.loads((tmp_path / "plane.json").read_text()) == plane.data
    assert plane._repr_html_().startswith("<iframe srcdoc=") and "width:0.5 sees" in repr(plane)


def recorded_plane(factors, seed=1, layers=("1",), estimators=("exact", "width:0.5"), labels=PARITY, **options):
    """A network whose initial weights are multiplied by each of these factors before each recording."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))
    plane = isentropic.InformationPlane(model, layers, estimators)
    for factor in factors:
        with torch.no_grad():
            model[0].weight.mul_(factor)
        plane.record(torch.tensor(BITS).T.float(), torch.tensor(labels), **options)
    return plane


def test_the_page_shows_accuracies_that_are_told():
    plane = recorded_plane([1, 8], train_accuracy=1, test_accuracy=torch.tensor(0.75))
    assert plane.data["moments"][0]["train_accuracy"] == [1.0] and plane.data["moments"][1]["test_accuracy"] == [0.75]
    assert "accuracy: training 1.000, test 0.750" in repr(plane)
    assert "Accuracy, mean over seeds" in plane.page() and "needs 3 seeds; there is 1." in plane.page()
    training_alone = recorded_plane([1, 8], train_accuracy=0.5)
    assert "accuracy: training 0.500\n" in repr(training_alone) and "test_accuracy" not in training_alone.to_json()
    assert "Accuracy, mean over seeds" in training_alone.page()
    assert "Compression and test accuracy" not in training_alone.page()
    silent = recorded_plane([1, 8])
    assert "accuracy" not in repr(silent) and "Accuracy, mean over seeds" not in silent.page()


def test_the_picture_is_a_file_of_its_own(tmp_path):
    plane = recorded_plane([1, 8])
    plane.save(tmp_path / "plane.svg")
    svg = (tmp_path / "plane.svg").read_text()
    assert svg == plane.picture() and svg.startswith("<svg")
    words = "".join(ElementTree.fromstring(svg).itertext())
    assert "width:0.5" in words and "I(X;T), bits" in words


# ---- several networks as seeds ----


def test_merged_planes_have_a_spread_over_seeds(tmp_path):
    courses, shares = ([4, 8], [4, 8], [4, 1]), (0.5, 0.7, 0.9)
    planes = [recorded_plane(course, i, test_accuracy=shares[i]) for i, course in enumerate(courses)]
    merged = isentropic.InformationPlane.merged(iter(planes), title="Three seeds")
    moment = merged.data["moments"][1]
    assert moment["test_accuracy"] == [0.5, 0.7, 0.9] and "train_accuracy" not in moment
    for name in ("input_bits", "label_bits"):
        for estimator in ("exact", "width:0.5"):
            seeds = [plane.data["moments"][1][name][estimator][0][0] for plane in planes]
            assert moment[name][estimator] == [seeds]
    alone = torch.tensor([drops(plane.findings(), "width:0.5")["1"]["drop"] for plane in planes])
    phase = drops(merged.findings(), "width:0.5")["1"]
    assert alone[0] > 0.3 and phase["drop"] == pytest.approx(alone.mean().item())
    assert phase["spread"] == pytest.approx((alone.std() / 3**0.5).item()) and phase["spread"] > 0
    table = merged.table()
    assert table["seed"] == [0, 1, 2] * 4 and table["input_bits"][9:] == moment["input_bits"]["width:0.5"][0]
    assert "one seed" in repr(planes[0]) and "one seed" not in repr(merged)
    merged.save(tmp_path / "plane.html")
    page = (tmp_path / "plane.html").read_text()
    assert "Three seeds" in page and "Correlation over 3 seeds" in page
    assert [len(plane.data["moments"][1]["input_bits"]["exact"][0]) for plane in planes] == [1, 1, 1]
    more = isentropic.InformationPlane.merged([merged, planes[0]])
    assert more.data["title"] == "Three seeds" and more.data["moments"][0]["test_accuracy"] == [*shares, 0.5]


def test_planes_that_do_not_belong_together_are_refused():
    plane = recorded_plane([1, 8], test_accuracy=0.5)
    halves = [i // 32 for i in range(64)]
    for other, message in (
        (recorded_plane([1, 8], layers=["2"]), r"layers of a plane are \['2'\]; expected those of the first, \['1'\]"),
        (recorded_plane([1, 8], estimators=["exact"]), r"estimators of a plane are \['exact'\]; expected those of"),
        (recorded_plane([1]), r"epochs of a plane are \[0\]; expected those of the first, \[0, 1\]"),
        (recorded_plane([1, 8], x=torch.tensor(halves)), r"H\(X\) of a plane is 1 bits; expected that of the first, 6"),
        (recorded_plane([1, 8], labels=[0] * 64), r"H\(Y\) of a plane is 0 bits; expected that of the first, 1"),
        (recorded_plane([1, 8]), "test_accuracy of epoch 0 is known of 1 of 2 planes; expected all or none"),
    ):
        with pytest.raises(ValueError, match=message):
            isentropic.InformationPlane.merged([plane, other])
    with pytest.raises(ValueError, match="planes is empty; expected at least one"):
        isentropic.InformationPlane.merged([])
    with pytest.raises(ValueError, match="the plane is merged from others; expected one that was made of a model"):
        isentropic.InformationPlane.merged([plane]).record(torch.zeros(64, 6), torch.tensor(PARITY))


def test_rows_may_share_their_input():
    inputs, labels = torch.tensor(BITS).T.float(), torch.tensor(PARITY)
    plane = isentropic.InformationPlane(small_network(), ["0"], ["exact"])
    same = plane.record(inputs, labels, x=torch.arange(64) // 8)
    assert same["input_bits"]["exact"][0][0] == pytest.approx(3) and plane.data["input_bits"] == pytest.approx(3)


def test_a_layer_is_measured_as_it_was_before_the_next_wrote_into_it():
    torch.manual_seed(1)
    before, after = nn.Linear(6, 4), nn.Linear(4, 2)
    inputs, labels = torch.tensor(BITS).T.float(), torch.tensor(PARITY)
    copied, in_place = (
        isentropic.InformationPlane(nn.Sequential(before, relu, after), ["0", "1"], ["width:0.5"])
        for relu in (nn.ReLU(), nn.ReLU(inplace=True))
    )
    wanted = copied.record(inputs, labels)["input_bits"]["width:0.5"]
    assert wanted[0][0] > wanted[1][0] + 0.5  # ReLU loses the sign
    assert in_place.record(inputs, labels)["input_bits"]["width:0.5"] == wanted


def test_labels_may_be_any_sequence_of_integers():
    inputs, labels = torch.tensor(BITS).T.float(), torch.tensor(PARITY)
    plane = isentropic.InformationPlane(small_network(), ["0"], ["exact"])
    first = plane.record(inputs, labels)["label_bits"]
    for given in (labels.tolist(), labels.numpy(), labels.double(), labels[:, None]):
        assert plane.record(inputs, given, x=list(range(64)))["label_bits"] == first


@pytest.mark.parametrize("given, error, words", [
    (dict(labels=torch.tensor(PARITY) + 0.5), ValueError, "labels is [01].5; expected an integer for each row"),
    (dict(labels=nn.functional.one_hot(torch.tensor(PARITY))), ValueError, r"labels has shape \[64, 2\]; expected an int"),
    (dict(labels=["a"] * 64), TypeError, "labels is a list; expected an integer for each row"),
    (dict(inputs=torch.zeros(0, 6), labels=[]), ValueError, r"labels has shape \[0\]; expected an integer"),
    (dict(labels=[0, 1]), ValueError, r"layer '0' gave the shape \[64, 4\]; expected 2 rows, as many as labels"),
    (dict(x=[0, 1]), ValueError, "x has 2 rows; expected 64, as many as labels"),
    (dict(epoch="one"), TypeError, "epoch is 'one'; expected an integer"),
    (dict(epoch=1.5), TypeError, "epoch is 1.5; expected an integer"),
])  # fmt: skip
def test_mistakes_with_a_record_are_named(given, error, words):
    plane = isentropic.InformationPlane(small_network(), ["0"], ["exact"])
    arguments = {"inputs": torch.tensor(BITS).T.float(), "labels": torch.tensor(PARITY)} | given
    with pytest.raises(error, match=words):
        plane.record(**arguments)
    assert plane.data["moments"] == []


def test_one_name_is_not_a_list_of_its_letters():
    with pytest.raises(TypeError, match="layers is '10'; expected a list of names"):
        isentropic.InformationPlane(nn.Sequential(*(nn.Linear(2, 2) for _ in range(11))), "10")
    with pytest.raises(TypeError, match="estimators is 'exact'; expected a list of names"):
        isentropic.InformationPlane(small_network(), ["0"], "exact")


def test_mistakes_with_a_network_of_ones_own():
    model, inputs, labels = small_network(), torch.tensor(BITS).T.float(), torch.tensor(PARITY)
    with pytest.raises(ValueError, match="expected names of the model's modules"):
        isentropic.InformationPlane(model, ["0", "fifth"])
    with pytest.raises(ValueError, match="estimator is 'bins'; expected one of exact"):
        isentropic.InformationPlane(model, ["0"], ["bins"])
    with pytest.raises(ValueError, match=r"estimators is \[\]; expected at least one"):
        isentropic.InformationPlane(model, ["0"], [])
    with pytest.raises(ValueError, match="estimators has 'exact' twice; expected each once"):
        isentropic.InformationPlane(model, ["0"], ["exact", "exact"])
    plane = isentropic.InformationPlane(model, ["0"], ["exact"])
    with pytest.raises(ValueError, match="labels"):
        plane.record(inputs, labels[:5])
    with pytest.raises(ValueError, match="test_accuracy is 95.0; expected a share between 0 and 1"):
        plane.record(inputs, labels, test_accuracy=95)
    with pytest.raises(TypeError, match="train_accuracy is '0.9'; expected a number"):
        plane.record(inputs, labels, train_accuracy="0.9")
    assert plane.data["moments"] == []
    plane.record(inputs, labels, epoch=4)
    with pytest.raises(ValueError, match="epoch is 4; expected one after 4"):
        plane.record(inputs, labels, epoch=4)
    with pytest.raises(ValueError, match="expected a name that ends in .html, .svg, .json"):
        plane.save("plane.png")
