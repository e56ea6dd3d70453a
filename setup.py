"""Builds the operators with CMake against the PyTorch of this environment: pip install --no-build-isolation ."""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Optional

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Older versions cannot build a wheel by themselves, and --no-build-isolation keeps pip from installing a newer one.
OLDEST_SETUPTOOLS = (70, 1)
if tuple(int(part) for part in setuptools.__version__.split(".")[:2]) < OLDEST_SETUPTOOLS:
    sys.exit(
        f"error: setuptools is {setuptools.__version__}; expected 70.1 or newer. "
        "Install it first: pip install --upgrade setuptools"
    )

ROOT = pathlib.Path(__file__).parent.resolve()
FILES = ("libisentropic_torch.so", "built_for_torch.txt", "version.txt")


def find_nvcc() -> Optional[str]:
    """The CUDA compiler: CUDACXX, on the PATH, or in CUDA_HOME."""
    named = os.environ.get("CUDACXX", "nvcc")
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(named) or shutil.which("nvcc", path=f"{home}/bin")


def choose_cuda(asked: Optional[str], torch_cuda: Optional[str], nvcc: Optional[str]) -> tuple[bool, str]:
    """Whether to build the kernels for NVIDIA GPUs, and why.

    asked: the variable ISENTROPIC_CUDA. torch_cuda: the CUDA version of PyTorch, if it has one.
    """
    if asked not in (None, "", "0", "1"):
        sys.exit(f"error: ISENTROPIC_CUDA is {asked!r}; expected 1 or 0")
    if asked == "0":
        return False, "ISENTROPIC_CUDA is 0"
    if asked == "1":
        if nvcc is None:
            sys.exit("error: ISENTROPIC_CUDA is 1 and nvcc was not found; expected it on the PATH or in CUDA_HOME")
        return True, "ISENTROPIC_CUDA is 1"
    if torch_cuda is None:
        return False, "this PyTorch is for CPUs alone"
    if nvcc is None:
        return False, "nvcc was not found, on the PATH or in CUDA_HOME; attention of CUDA tensors will be slow"
    return True, f"PyTorch has CUDA {torch_cuda}, and nvcc is there"


def cuda_options(wanted: bool, nvcc: Optional[str]) -> dict[str, str]:
    """CMake's options for CUDA, explicit even when it is off, because the cache may remember otherwise."""
    if not wanted:
        return {"ISENTROPIC_CUDA": "OFF"}
    architectures = os.environ.get("ISENTROPIC_CUDA_ARCHITECTURES", "80;90")
    return {"ISENTROPIC_CUDA": "ON", "CMAKE_CUDA_COMPILER": nvcc, "CMAKE_CUDA_ARCHITECTURES": architectures}


def said_of(options: dict[str, str], reason: str) -> str:
    """One line at the end of the build (pip shows it with -v)."""
    if options["ISENTROPIC_CUDA"] == "OFF":
        return f"isentropic: built without CUDA kernels: {reason}"
    names = ", ".join(f"sm_{number}" for number in options["CMAKE_CUDA_ARCHITECTURES"].split(";"))
    return f"isentropic: built with CUDA kernels for {names}: {reason}"


class CMakeBuild(build_ext):
    """The only extension is CMake's target isentropic_torch."""

    def get_ext_filename(self, name: str) -> str:
        return f"{name.replace('.', '/')}.so"  # a library that PyTorch loads, not a Python module

    def build_extension(self, ext: Extension) -> None:
        try:
            import torch
        except ImportError:
            sys.exit("error: no PyTorch here. Install torch first and pass --no-build-isolation to pip.")
        for tool in ("cmake", "ninja"):
            if shutil.which(tool) is None:
                sys.exit(
                    f"error: {tool} was not found. On Debian: apt-get install cmake ninja-build g++ libboost-dev libeigen3-dev libfmt-dev libhwy-dev nlohmann-json3-dev node-d3"
                )
        existing = os.environ.get("ISENTROPIC_BUILD_DIR")
        if existing:  # reuse a folder that CMake has configured for this Python
            subprocess.run(["cmake", "--build", existing, "--target", "isentropic_torch"], check=True)
            self.copy_to_package(ext, pathlib.Path(existing))
            print(f"isentropic: took the operators of {existing}")
            return
        build = ROOT / "build" / "pip"
        nvcc = find_nvcc()
        wanted, reason = choose_cuda(os.environ.get("ISENTROPIC_CUDA"), torch.version.cuda, nvcc)
        cuda = cuda_options(wanted, nvcc)
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "ISENTROPIC_PYTHON": sys.executable,
            "ISENTROPIC_BUILD_CLI": "OFF",
            "ISENTROPIC_BUILD_TESTS": "OFF",
            "ISENTROPIC_INFORMATION": "AUTO",  # isentropic.information needs Boost's headers
            "ISENTROPIC_OPENMP": "OFF",
            **cuda,
        }
        definitions = [f"-D{name}={value}" for name, value in options.items()]
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", *definitions], check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "isentropic_torch"], check=True)
        self.copy_to_package(ext, build)
        print(said_of(cuda, reason))

    def copy_to_package(self, ext: Extension, build: pathlib.Path) -> None:
        packages = [pathlib.Path(self.get_ext_fullpath(ext.name)).parent]
        if getattr(self, "editable_mode", False):
            packages.append(ROOT / "python" / "isentropic")
        for package in packages:
            package.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                shutil.copy2(build / "python" / "isentropic" / name, package / name)


setup(
    ext_modules=[Extension("isentropic.libisentropic_torch", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    options={"build": {"build_base": "build/pip/setuptools"}, "egg_info": {"egg_base": "python"}},
)
