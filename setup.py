"""Builds the operators with CMake against the PyTorch of this environment: pip install --no-build-isolation ."""

import os
import pathlib
import shutil
import subprocess
import sys

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Older ones cannot make a wheel by themselves, and --no-build-isolation keeps pip from bringing a newer one.
OLDEST_SETUPTOOLS = (70, 1)
if tuple(int(part) for part in setuptools.__version__.split(".")[:2]) < OLDEST_SETUPTOOLS:
    sys.exit(
        f"error: setuptools is {setuptools.__version__}; expected 70.1 or newer. "
        "Install it first: pip install --upgrade setuptools"
    )

ROOT = pathlib.Path(__file__).parent.resolve()
FILES = ("libisentropic_torch.so", "built_for_torch.txt", "version.txt")


class CMakeBuild(build_ext):
    """The one extension is CMake's target isentropic_torch."""

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
                    f"error: {tool} was not found. On Debian: apt-get install cmake ninja-build g++ libeigen3-dev libfmt-dev libhwy-dev nlohmann-json3-dev node-d3"
                )
        existing = os.environ.get("ISENTROPIC_BUILD_DIR")
        if existing:  # a folder that CMake has configured for this Python: what is built there is not built again
            subprocess.run(["cmake", "--build", existing, "--target", "isentropic_torch"], check=True)
            return self.copy_to_package(ext, pathlib.Path(existing))
        build = ROOT / "build" / "pip"
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "ISENTROPIC_PYTHON": sys.executable,
            "ISENTROPIC_BUILD_CLI": "OFF",
            "ISENTROPIC_BUILD_TESTS": "OFF",
            "ISENTROPIC_INFORMATION": "OFF",
            "ISENTROPIC_OPENMP": "OFF",
        }
        # Kernels for NVIDIA GPUs, where PyTorch can use one and the compiler for them is there.
        if torch.version.cuda and shutil.which("nvcc"):
            options["ISENTROPIC_CUDA"] = "ON"
            options["CMAKE_CUDA_ARCHITECTURES"] = os.environ.get("ISENTROPIC_CUDA_ARCHITECTURES", "80;90")
            print(f"building CUDA kernels for sm_{options['CMAKE_CUDA_ARCHITECTURES'].replace(';', ', sm_')}")
        elif torch.version.cuda:
            print("no nvcc: CUDA tensors will be computed by PyTorch's operators, which is slow")
        definitions = [f"-D{name}={value}" for name, value in options.items()]
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", *definitions], check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "isentropic_torch"], check=True)
        self.copy_to_package(ext, build)

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
