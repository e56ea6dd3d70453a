"""The folders of all studies: existing files stay, unless a study overwrites another one."""

import json
import struct

import pytest
import torch

from program import Command, contents

NETWORKS = "--seeds 1 --width 16 --heads 2 --batch 8"
ONE_SCALE = f"{NETWORKS} --steps 1 --measurements 1 --examples 8 --scales log_n"
# As small as possible.
STUDIES = {
    "plane": "--epochs 1 --seeds 1 --estimators exact",
    "train vib": "--gaussian --betas 0.1 --seeds 1 --epochs 1 --batch 2000",
    "train contrast": "--critic cosine --batch 8 --information 2 --dimension 2 --steps 4 --temperatures 1 --view-steps 2",
    "train retrieval": f"--length 8 --factors 1 --steps 1 --examples 8 --scales log_n --maps none --learnt-maps none "
    f"--learnt-scales none --without-key-bias none {NETWORKS}",
    "train seq2seq": f"--length 2 --lengths 2 --layers 1 {ONE_SCALE}",
    "train grounding": f"--side 2 --max-matching 1 --matching 1 --sides 2 --matching-of-sides 1 {ONE_SCALE}",
    "train resolution": f"--data IMAGES --patch 2 --factors 1 --layers 1 {ONE_SCALE}",
    "train dynamics": f"TEXTS/0.txt --parts entropy --points 2 --steps 4 --length 16 --vocabulary 270 {NETWORKS}",
    "train length": "TEXTS --laws inverse_sqrt_d --positions none --best 0 --attention-dropout-sweep 0 --weight-decay-sweep 0.1 --learning-rates 0.01 "
    f"--steps 20 --length 16 --scored 8 --factors 0.5,2 --documents 2 --vocabulary 270 --layers 1 {NETWORKS}",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Images with random pixels, and texts."""
    folder = tmp_path_factory.mktemp("inputs")
    draw = torch.Generator().manual_seed(1)
    for part in ("train", "t10k"):
        for kind, high, shape in (("images-idx3", 256, (20, 4, 4)), ("labels-idx1", 2, (20,))):
            values = torch.randint(high, shape, generator=draw).to(torch.uint8)
            header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
            (folder / f"{part}-{kind}-ubyte").write_bytes(header + values.numpy().tobytes())
    (folder / "texts").mkdir()
    for name in range(8):
        words = torch.randint(1000, (400,), generator=draw).tolist()
        (folder / "texts" / f"{name}.txt").write_text(" ".join(map(str, words)))
    return folder


@pytest.fixture(params=STUDIES)
def study(request, inputs):
    """Runs one of the studies into a folder."""
    options = STUDIES[request.param].replace("IMAGES", str(inputs)).replace("TEXTS", str(inputs / "texts"))

    def run(folder, *more, status=0):
        return Command(*request.param.split())(*options.split(), "-o", folder, *more, status=status)

    run.name = request.param.split()[-1]
    return run


def written(folder, *names):
    """Writes files that belong to someone else."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"mine: {name}")
    return contents(folder)


def refusal(result):
    (line,) = result.stderr.splitlines()
    assert line.startswith("isentropic: output folder is ")
    return line


STUDY_FILES = ["study.json", "log.jsonl", "state.safetensors", "results.json", "page.html", "old.svg", "runs/0.lock"]


def test_a_folder_that_is_there_is_kept(study, tmp_path):
    before = written(tmp_path / "a", *STUDY_FILES)
    message = refusal(study(tmp_path / "a", status=1))
    assert "is there already; expected a new one, --resume or --overwrite" in message
    assert contents(tmp_path / "a") == before


def test_a_folder_that_holds_no_study_is_not_overwritten(study, tmp_path):
    """TensorBoard also writes to runs/."""
    before = written(tmp_path / "a", "results.json", "drawing.svg", "runs/board/events")
    message = refusal(study(tmp_path / "a", "--overwrite", status=1))
    assert "holds no study.json to overwrite; expected a new one" in message
    assert contents(tmp_path / "a") == before


def test_a_study_is_overwritten_and_nothing_of_it_stays(study, tmp_path):
    written(tmp_path / "a", *STUDY_FILES)
    study(tmp_path / "a", "--overwrite")
    assert json.loads((tmp_path / "a" / "study.json").read_text())["study"] == study.name
    assert not [path for path, data in contents(tmp_path / "a").items() if b"mine" in data]
