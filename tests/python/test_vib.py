"""isentropic train vib: Gaussians against their exact curve, images, interruptions, and error messages."""

import gzip
import json
import math
import pathlib
import struct

import pytest
import torch

from program import Command, contents

run = Command("train", "vib", OMP_NUM_THREADS="1")  # too little work for more
MNIST = pathlib.Path(__file__).parents[3] / "shared" / "data" / "mnist"


def idx(values):
    return struct.pack(f">HBB{values.dim()}I", 0, 8, values.dim(), *values.shape) + values.numpy().tobytes()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Three kinds of 5 x 5 images, each bright in a different row; one part is gzipped."""
    folder = tmp_path_factory.mktemp("images")
    draw = torch.Generator().manual_seed(1)
    for part, count in (("train", 300), ("t10k", 90)):
        labels = torch.randint(3, (count,), generator=draw).to(torch.uint8)
        pixels = torch.randint(100, (count, 5, 5), generator=draw).to(torch.uint8)
        pixels[torch.arange(count), labels.long()] += 60
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(pixels))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return folder


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def exact(correlations, beta):
    """(I_X, I_Y) of the optimal code for Gaussians (Chechik et al. 2005)."""
    used = [rho**2 for rho in correlations if rho**2 > beta]
    i_x = sum(0.5 * math.log(square * (1 - beta) / (beta * (1 - square))) for square in used)
    return i_x, i_x - sum(0.5 * math.log(square / beta) for square in used)


def best_at(correlations, information_x):
    """I_Y of the exact curve at a given I_X."""
    low, high = 1e-9, 1.0
    for _ in range(100):
        beta = math.sqrt(low * high)
        low, high = (beta, high) if exact(correlations, beta)[0] > information_x else (low, beta)
    return exact(correlations, high)[1]


def test_gaussians_meet_their_curve(tmp_path):
    """Networks are tested on 50000 examples, each with a deviation of 1.4 nats: 0.02 nats are three standard errors."""
    table = run("--gaussian", "-o", tmp_path / "study", "--seeds", 1).stdout
    results = results_of(tmp_path / "study")
    noisy = [member for member in results["members"] if not member["deterministic"]]
    assert len(noisy) == 7 and len(results["members"]) == 8
    for member in noisy:
        i_x, i_y = member["test"]["information_x"], member["test"]["information_y"]
        best = best_at(results["correlations"], i_x)
        assert member["best_information_y"] == pytest.approx(best, abs=1e-6)
        assert best - 0.02 < i_y < best + 0.02
        assert (i_x, i_y) == pytest.approx(exact(results["correlations"], member["beta"]), abs=0.1)
        assert f"{i_x:.4f}" in table and f"{i_y:.4f}" in table
    whole = -0.5 * sum(math.log(1 - rho**2) for rho in results["correlations"])
    silent = results["members"][-1]["test"]
    assert silent["information_x"] is None and silent["information_y"] == pytest.approx(whole, abs=0.02)


def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path):
    options = ["--gaussian", "--seeds", 2, "--betas", "0.1,0.5", "--epochs", 8]
    whole = run("-o", tmp_path / "whole", *options)
    log = tmp_path / "parts" / "log.jsonl"
    run.interrupt("-o", tmp_path / "parts", *options, when=lambda: log.exists() and log.stat().st_size > 0)
    assert len(log_of(tmp_path / "parts")) < 6 * 8 and not (tmp_path / "parts" / "results.json").exists()
    assert run("-o", tmp_path / "parts", "--resume").stdout == whole.stdout
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert run("-o", tmp_path / "parts", "--resume").stdout == whole.stdout  # nothing left to do
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_network_does_not_depend_on_its_company(tmp_path):
    run("--gaussian", "-o", tmp_path / "many", "--seeds", 2, "--betas", "0.05,0.3", "--epochs", 2)
    run("--gaussian", "-o", tmp_path / "one", "--seeds", 1, "--betas", "0.3", "--epochs", 2, "--seed", 1)
    many, one = results_of(tmp_path / "many")["members"], results_of(tmp_path / "one")["members"]
    assert [(member["beta"], member["seed"]) for member in many[:4]] == [(0.05, 1), (0.05, 2), (0.3, 1), (0.3, 2)]
    assert many[2]["test"]["information_x"] == pytest.approx(one[0]["test"]["information_x"], rel=1e-4)
    assert many[3]["test"]["information_x"] != pytest.approx(one[0]["test"]["information_x"], rel=1e-4)


def test_images(images, tmp_path):
    options = ["--betas", "0,1", "--seeds", 1, "--epochs", 6, "--batch", 15]
    table = run("--data", images, "-o", tmp_path / "study", *options).stdout
    lines = log_of(tmp_path / "study")
    assert [(line["epoch"], line["beta"], line["deterministic"]) for line in lines] == [
        (epoch, *member) for epoch in range(1, 7) for member in ((0, False), (1, False), (0, True))
    ]
    members = results_of(tmp_path / "study")["members"]
    assert members == [{name: line[name] for name in line if name not in ("step", "epoch")} for line in lines[-3:]]
    free, priced, silent = (member["test"] for member in members)
    assert priced["information_x"] < 0.8 * free["information_x"]
    assert silent["error_one"] == silent["error_many"] < 0.1 and free["error_many"] < 0.1
    for member in members:
        assert member["test"]["information_y"] < math.log(3)
    assert lines[0]["test"]["information_y"] < lines[-3]["test"]["information_y"]
    assert len(table.splitlines()) == 5 and "no noise" in table
    page = (tmp_path / "study" / "page.html").read_text()
    assert "Test error" in page and "Information kept by the code" in page


def test_mnist_is_read(tmp_path):
    if not MNIST.exists():
        pytest.skip(f"{MNIST} is not here")
    error = run("--data", MNIST, "-o", tmp_path / "study", "--batch", 60001, status=1).stderr
    assert "batch is 60001; expected at most the 60000 training examples" in error


@pytest.mark.parametrize(
    "options, status, message",
    [
        ([], 2, "--data is not given; expected a folder of IDX files, or --gaussian"),
        (["--gaussian", "--data", "x"], 2, "--data is given with --gaussian; expected a folder"),
        (["--gaussian", "--betas", "0.1,x"], 2, "--betas is x; expected"),
        (["--gaussian", "--betas", "-1"], 2, "--betas is -1; expected"),
        (["--gaussian", "--betas", "0.1,1e-1"], 2, "--betas is 1e-1; expected increasing numbers"),
        (["--gaussian", "--seeds", 0], 2, "--seeds"),
        (["--gaussian", "--device", "cuda:9"], 2, "--device is 'cuda:9'; expected cpu"),
        (["--gaussian", "--resume", "--overwrite"], 2, "--resume is given with --overwrite"),
        (["--resume"], 1, "holds no study to continue"),
        (["--resume", "--epochs", 40], 2, "--epochs is given with --resume; expected none"),
        (["--gaussian", "--batch", 30000], 1, "batch is 30000; expected at most the 20000 training examples"),
        (["--data", "nowhere"], 1, "nowhere/train-images-idx3-ubyte is missing; expected an IDX file"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path, options, status, message):
    error = run("-o", tmp_path / "study", *options, status=status).stderr.splitlines()[-1]
    assert error.startswith("isentropic: ") and message in error
    assert not (tmp_path / "study").exists()


def test_a_study_goes_on_on_another_device(tmp_path):
    options = ["--gaussian", "--betas", "0.3", "--seeds", 1, "--epochs", 1000]
    stopped = run("-o", tmp_path / "study", *options, "--minutes", 0.001, status=1).stderr
    assert (
        f"expected isentropic train vib -o {tmp_path / 'study'} --resume --minutes 0.001, to continue"
        in stopped.splitlines()[-1]
    )
    about = tmp_path / "study" / "study.json"
    about.write_text(about.read_text().replace('"device": "cpu"', '"device": "cuda:77"'))
    resume = ["-o", tmp_path / "study", "--resume", "--minutes", 0.001]
    assert "cuda:77" in run(*resume, status=1).stderr
    assert "stopped after" in run(*resume, "--device", "cpu", status=1).stderr


def test_bad_images_and_folders(images, tmp_path):
    changed = tmp_path / "images"
    changed.mkdir()
    for path in images.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    options = ["--data", changed, "--betas", "0.1", "--seeds", 1, "--epochs", 1]
    shown = run("-o", tmp_path / "study", *options).stdout
    run("-o", tmp_path / "stopped", *options[:-1], 1000, "--minutes", 0.001, status=1)
    pixels = changed / "train-images-idx3-ubyte"
    whole = pixels.read_bytes()
    pixels.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "is not what it was when the study began" in run("-o", tmp_path / "stopped", "--resume", status=1).stderr
    assert run("-o", tmp_path / "study", "--resume").stdout == shown  # a finished study only needs its log
    pixels.write_bytes(whole[:-1])
    assert "train-images-idx3-ubyte is cut off" in run("-o", tmp_path / "a", *options, status=1).stderr
    pixels.write_bytes(whole)
    (changed / "t10k-images-idx3-ubyte").write_bytes(idx(torch.zeros(90, 4, 5, dtype=torch.uint8)))
    error = run("-o", tmp_path / "a", *options, status=1).stderr
    assert "of 4 x 5 pixels; expected 5 x 5 pixels" in error
    (changed / "t10k-images-idx3-ubyte").write_bytes((images / "t10k-images-idx3-ubyte").read_bytes())
    (changed / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(torch.full((90,), 3, dtype=torch.uint8))))
    error = run("-o", tmp_path / "a", *options, status=1).stderr
    assert "up to 3; expected labels of the training images, up to 2" in error
    (changed / "train-images-idx3-ubyte").write_bytes(idx(torch.zeros(300, 129, 128, dtype=torch.uint8)))
    assert "of 129 x 128 pixels; expected at most" in run("-o", tmp_path / "a", *options, status=1).stderr
    assert not (tmp_path / "a").exists()


def test_folders_that_were_changed(tmp_path):
    run("--gaussian", "-o", tmp_path / "study", "--betas", "0.1", "--seeds", 1, "--epochs", 1, "--batch", 2000)
    (tmp_path / "study" / "log.jsonl").write_text("{}\n")
    assert "log.jsonl is without the last epoch" in run("-o", tmp_path / "study", "--resume", status=1).stderr
    study = json.loads((tmp_path / "study" / "study.json").read_text())
    for name, value in (("batch", 0), ("betas", []), ("data", 3), ("epochs", "many")):
        changed = {"study": "vib", "options": {**study["options"], name: value}}
        (tmp_path / "study" / "study.json").write_text(json.dumps(changed))
        assert "study.json is without an option" in run("-o", tmp_path / "study", "--resume", status=1).stderr
