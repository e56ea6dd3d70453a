"""The package as users install it: pip builds the operators against the installed PyTorch."""

import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = """
import torch, isentropic
q, k, v = torch.randn(3, 1, 2, 16, 8).unbind(0)
output, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
print(isentropic.__file__, tuple(aux.entropy.shape))
"""


def run(folder, code):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Uses the build folder's operators if the tests run in one: only `make check` builds them again.
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", "--target", str(folder), str(ROOT)], check=True)
    return folder


def test_installed_package_runs(installed):
    found = run(installed, SAMPLE)
    assert found.returncode == 0, found.stderr
    assert str(installed) in found.stdout and "(1, 2, 16)" in found.stdout


def test_the_metadata_have_the_version(installed):
    code = "from importlib import metadata; import isentropic; print(metadata.version('isentropic'), isentropic.__version__)"
    version = (ROOT / "VERSION").read_text().strip()
    assert run(installed, code).stdout.split() == [version, version]


def test_typing_marker_is_installed(installed):
    assert (installed / "isentropic" / "py.typed").exists()


def test_operators_need_no_library_of_boost_or_eigen(installed):
    """Both are header-only: the package runs where neither is installed."""
    library = installed / "isentropic" / "libisentropic_torch.so"
    found = subprocess.run(["readelf", "--dynamic", library], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", found)
    assert "libtorch.so" in needed
    assert not [name for name in needed if re.search("boost|eigen", name, re.IGNORECASE)]


def test_the_build_is_configured_without_the_information_library(tmp_path):
    options = {
        "PYTHON": sys.executable,
        "BUILD_CLI": "OFF",
        "BUILD_TESTS": "OFF",
        "OPENMP": "OFF",
        "INFORMATION": "OFF",
    }
    definitions = [f"-DISENTROPIC_{name}={value}" for name, value in options.items()]
    command = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *definitions]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    targets = (tmp_path / "build.ninja").read_text()
    assert "libisentropic_torch.so" in targets and "layer_pytorch_plane" in targets
    assert "layer_pytorch_information" not in targets


def test_another_torch_is_refused_with_advice(installed):
    stamp = installed / "isentropic" / "built_for_torch.txt"
    assert stamp.read_text().strip() == torch.__version__
    stamp.write_text("2.9.1+cpu\n")
    found = run(installed, "import isentropic")
    stamp.write_text(torch.__version__)
    assert "ImportError: isentropic was built for PyTorch 2.9.1+cpu; this environment has" in found.stderr
    assert "pip install --no-build-isolation ." in found.stderr


def test_a_package_without_operators_says_how_to_build_them(installed):
    library = installed / "isentropic" / "libisentropic_torch.so"
    away = library.rename(library.with_suffix(".away"))
    found = run(installed, "import isentropic")
    away.rename(library)
    assert "ImportError: isentropic has no compiled operators" in found.stderr


def test_an_old_setuptools_is_refused_with_advice(tmp_path):
    (tmp_path / "setuptools").mkdir()
    for name, text in {
        "__init__": '__version__ = "65.5.0"\nExtension = setup = None',
        "command/__init__": "",
        "command/build_ext": "class build_ext: pass",
    }.items():
        file = tmp_path / "setuptools" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    found = subprocess.run(
        [sys.executable, ROOT / "setup.py", "bdist_wheel"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 1
    advice = "Install it first: pip install --upgrade setuptools"
    assert found.stderr.splitlines() == [f"error: setuptools is 65.5.0; expected 70.1 or newer. {advice}"]


# ---- kernels for NVIDIA GPUs ----


@pytest.fixture
def script(monkeypatch):
    """The namespace of setup.py, without building anything."""
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    return runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.parametrize(
    "asked, torch_cuda, nvcc, wanted, why",
    [
        (None, "13.0", "/usr/bin/nvcc", True, "PyTorch has CUDA 13.0, and nvcc is there"),
        ("", "13.0", "/usr/bin/nvcc", True, "PyTorch has CUDA 13.0, and nvcc is there"),
        (None, None, "/usr/bin/nvcc", False, "this PyTorch is for CPUs alone"),
        (None, "13.0", None, False, "nvcc was not found"),
        ("0", "13.0", "/usr/bin/nvcc", False, "ISENTROPIC_CUDA is 0"),
        ("1", None, "/usr/bin/nvcc", True, "ISENTROPIC_CUDA is 1"),
    ],
)
def test_kernels_are_built_where_they_can_be_used(script, asked, torch_cuda, nvcc, wanted, why):
    found, reason = script["choose_cuda"](asked, torch_cuda, nvcc)
    assert found == wanted and why in reason
    options = script["cuda_options"](found, nvcc)
    assert options["ISENTROPIC_CUDA"] == ("ON" if wanted else "OFF")
    assert ("without" in script["said_of"](options, reason)) != wanted


@pytest.mark.parametrize(
    "asked, message", [("1", "nvcc was not found"), ("yes", "ISENTROPIC_CUDA is 'yes'; expected 1 or 0")]
)
def test_what_cannot_be_built_is_refused(script, asked, message):
    with pytest.raises(SystemExit, match=message):
        script["choose_cuda"](asked, "13.0", None)


def test_architectures_are_named(script, monkeypatch):
    monkeypatch.setenv("ISENTROPIC_CUDA_ARCHITECTURES", "86;90")
    options = script["cuda_options"](True, "/usr/bin/nvcc")
    assert options["CMAKE_CUDA_ARCHITECTURES"] == "86;90" and options["CMAKE_CUDA_COMPILER"] == "/usr/bin/nvcc"
    assert script["said_of"](options, "why") == "isentropic: built with CUDA kernels for sm_86, sm_90: why"


def test_nvcc_is_found_in_the_home_of_cuda(script, monkeypatch, tmp_path):
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDACXX", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert script["find_nvcc"]() == str(nvcc)
    nvcc.unlink()
    assert script["find_nvcc"]() is None
