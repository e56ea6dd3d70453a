"""Files of Python's safetensors, read and written back in C++."""

import json
import os
import pathlib
import subprocess

import torch
from safetensors import safe_open
from safetensors.torch import save_file

BUILD = pathlib.Path(__file__).parents[2] / "build"
COPY = os.environ.get("ISENTROPIC_SAFETENSORS_COPY", BUILD / "tests" / "safetensors_copy")

TYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
    "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "U16": torch.uint16, "C64": torch.complex64,
}  # fmt: skip


def copy(source, target):
    """Round-trips through the C++ program; returns the lines it prints."""
    done = subprocess.run([COPY, source, target], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def random_tensor(dtype, *shape):
    """Random bits, except that booleans are 0 or 1."""
    size = torch.Size(shape).numel() * dtype.itemsize
    values = torch.randint(0, 2 if dtype == torch.bool else 256, (size,), dtype=torch.uint8)
    return values.view(dtype).reshape(shape)


def of_all_types():
    return {f"{'zyx'[i % 3]}.{name}": random_tensor(dtype, 3, 5) for i, (name, dtype) in enumerate(TYPES.items())}


def bytes_of(tensor):
    return tensor.reshape(-1).view(torch.uint8).tolist()


def assert_holds(path, expected):
    with safe_open(path, "pt") as file:
        assert set(file.keys()) == set(expected)
        for name, tensor in expected.items():
            found = file.get_tensor(name)
            assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape), name
            assert bytes_of(found) == bytes_of(tensor), name


def test_every_type(tmp_path):
    tensors = of_all_types()
    save_file(tensors, tmp_path / "in.safetensors")
    lines = copy(tmp_path / "in.safetensors", tmp_path / "out")
    assert lines == [f"{name} {name[2:]} [3, 5]" for name in sorted(tensors)]
    assert_holds(tmp_path / "out", tensors)


def test_bytes_are_the_same(tmp_path):
    """Names, order, padding, metadata: identical to those of the reference implementation."""
    tensors = {**of_all_types(), 'β"\n\x01/': torch.ones(2), "scalar": torch.tensor(3.5), "none": torch.empty(0, 4)}
    for i, metadata in enumerate([None, {"format": "pt"}, {"é\t": 'quo"te'}]):
        source, target = tmp_path / f"{i}.safetensors", tmp_path / f"{i}.copy"
        save_file(tensors, source, metadata)
        copy(source, target)
        assert target.read_bytes() == source.read_bytes()


def test_shards(tmp_path):
    tensors = of_all_types()
    weight_map = {name: f"model-0000{i % 3}.safetensors" for i, name in enumerate(tensors)}
    for shard in set(weight_map.values()):
        part = {name: tensor for name, tensor in tensors.items() if weight_map[name] == shard}
        save_file(part, tmp_path / shard, {"format": "pt"})
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    copy(tmp_path, tmp_path / "joined")
    assert_holds(tmp_path / "joined", tensors)
    with safe_open(tmp_path / "joined", "pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_an_empty_file(tmp_path):
    save_file({}, tmp_path / "in.safetensors")
    assert copy(tmp_path / "in.safetensors", tmp_path / "out") == []
    assert_holds(tmp_path / "out", {})
