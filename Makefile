# All commands for users and developers; make help lists them.
JOBS := $(shell nproc)
# For targets that use a GPU: a Python with PyTorch for CUDA, pytest and transformers.
GPU_PYTHON ?= $(shell command -v python3)

.PHONY: build models run pages verify seeds test gpu-test gpu-build gpu-release gpu-sanitize bench peers peers-scan gpu-peers architectures python oldest-torch asan tsan lint odr pip-install check format clean help
.PHONY: configure packages test-packages
.DEFAULT_GOAL := build
.NOTPARALLEL: # two runs of apt-get would compete for its lock; builds and tests run their own jobs in parallel

packages:
	@tools/require-packages $$(cat tools/debian-packages.txt)

# The tests open the pages in a real browser and need their own Python environment.
test-packages:
	@tools/require-packages $$(cat tools/debian-packages.txt tools/debian-packages-tests.txt)

configure: packages
	@cmake --preset cpu >/dev/null

# PyTorch and the tests' Python packages, in a virtual environment; the operators are built for it.
build/venv/ready: tools/python-requirements.txt
	@tools/require-packages python3-venv
	@test -x build/venv/bin/python || python3 -m venv build/venv
	@build/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

python: packages build/venv/ready
	@cmake --preset cpu -DISENTROPIC_PYTHON="$(CURDIR)/build/venv/bin/python" >/dev/null

build: configure
	@cmake --build --preset cpu -j $(JOBS)

# The commands that run networks: scan, train, perplexity, generate.
models: python
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli isentropic-torch

run: models
	build/bin/isentropic scan models/books --against models/books-log-n --text models/northanger.txt --lengths 1024,2048,4096 --allow-beyond -o $(CURDIR)/report.html

# The pages of the studies stored in the repository, generated from their logs.
pages: models
	@tools/build-pages build/bin/isentropic $(CURDIR)/build/pages

# Checks every claim of the theory and writes an HTML page.
verify: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli
	build/bin/isentropic verify --html $(CURDIR)/verify.html

# The same with twenty seeds, then the larger experiments; those that train transformers need PyTorch.
seeds: models
	@for seed in $$(seq 1 20); do echo "seed $$seed"; build/bin/isentropic verify --seed $$seed >build/verify.txt || { grep ^FAILED build/verify.txt; exit 1; }; done
	@echo "thorough"; build/bin/isentropic verify --thorough >build/verify.txt || { grep ^FAILED build/verify.txt; exit 1; }
	@! grep ^pending build/verify.txt

# PyTorch is installed while targets that do not need it are compiled. The GPU kernels are compiled and checked using
# the compiler's report; the tests that run them are skipped without a GPU, and always run in an emulator.
test: test-packages
	@nvcc=$$(tools/find-cuda-program nvcc) && CUDACXX=$$nvcc cmake --preset cpu -DISENTROPIC_CUDA=ON >/dev/null
	@$(MAKE) --no-print-directory build/venv/ready & \
	  cmake --build --preset cpu -j $(JOBS) --target isentropic-cli isentropic_cuda; \
	  status=$$?; wait $$! && exit $$status
	@$(MAKE) --no-print-directory python
	@cmake --build --preset cpu -j $(JOBS)
	@tools/run-tests cpu $(JOBS)

gpu-build: packages
	@nvcc=$$(tools/find-cuda-program nvcc) && CUDACXX=$$nvcc cmake --preset cuda -DISENTROPIC_PYTHON="$(GPU_PYTHON)" >/dev/null
	@cmake --build --preset cuda -j $(JOBS) --target test_cuda isentropic_torch

# The operators for every supported GPU: code for sm_80 and sm_90, and PTX for later ones.
gpu-release: packages
	@nvcc=$$(tools/find-cuda-program nvcc) && CUDACXX=$$nvcc cmake --preset cuda-release -DISENTROPIC_PYTHON="$(GPU_PYTHON)" >/dev/null
	@cmake --build --preset cuda-release -j $(JOBS)
	@ctest --preset cuda-release

# Tests the kernels on an NVIDIA GPU, then their use from Python.
gpu-test: gpu-build
	build/cuda/tests/test_cuda
	PYTHONPATH=build/cuda/python:$$PYTHONPATH $(GPU_PYTHON) -m pytest -q --no-header -p no:cacheprovider tests/python/test_cuda*.py

# The kernels on small cases, under compute-sanitizer: memory errors, races, uninitialised memory.
gpu-sanitize: gpu-build
	@tools/sanitise-kernels build/cuda/tests/test_cuda

bench: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli
	build/bin/isentropic bench attention

# Waiting threads sleep, because two thread pools share the cores here.
peers: python
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_peers isentropic_torch
	OMP_WAIT_POLICY=passive build/venv/bin/python bench/peers/attention.py build/peers/isentropic_peers.so
	PYTHONPATH=build/python build/venv/bin/python bench/peers/training.py build/peers/isentropic_peers.so
	PYTHONPATH=build/python build/venv/bin/python bench/peers/small_calls.py
	PYTHONPATH=build/python build/venv/bin/python bench/peers/information.py
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli isentropic-torch
	PYTHONPATH=build/python build/venv/bin/python bench/peers/models.py

# Scans against bertviz and transformer-lens, which need their own environment.
peers-scan: python
	@test -x build/peers-venv/bin/python || python3 -m venv build/peers-venv
	@build/peers-venv/bin/pip install --quiet --disable-pip-version-check bertviz==1.4.1 transformer-lens==4.3.0
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_torch
	PYTHONPATH=build/python build/venv/bin/python bench/peers/scan.py --peers build/peers-venv/bin/python

# Benchmarks on a GPU against PyTorch's attention and, if they are on PYTHONPATH, liger-kernel and cut-cross-entropy.
gpu-peers: gpu-build
	@for script in attention losses training scan; do \
	  PYTHONPATH=build/cuda/python:$$PYTHONPATH $(GPU_PYTHON) bench/peers/gpu_$$script.py --json build/gpu_$$script.json || exit 1; done

# Scans every architecture in transformers that predicts tokens and compares with its eager attention.
architectures: python
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_torch
	PYTHONPATH=build/python build/venv/bin/python tests/python/architectures.py

# Compiles the operators against the headers of the oldest supported PyTorch (a one-time download of 0.9 GB).
oldest-torch: python
	@tools/check-oldest-torch $(JOBS)

asan tsan: test-packages
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@tools/run-tests $@ $(JOBS)

# What clang-tidy checks: the core, in three minutes on one CPU; make lint TIDY=src checks all of src/.
TIDY ?= src/(base|softmax|attention|losses)

# Formatting follows Debian 12's clang-format and the version of ruff in tools/python-requirements.txt.
lint: configure build/venv/ready
	@tools/require-packages clang-format clang-tidy libomp-dev
	@tools/check-opening-lines
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
	@build/venv/bin/ruff check --quiet .
	@build/venv/bin/ruff format --quiet --check .
	@echo 'clang-tidy on $(TIDY)'
	@run-clang-tidy -quiet -j $(JOBS) -p build '$(CURDIR)/$(TIDY)/.*\.cpp$$' >build/clang-tidy.txt 2>&1 || { cat build/clang-tidy.txt; exit 1; }

# The linker does not complain about two different inline functions with the same name: it keeps one of them.
odr: packages
	@cmake --preset odr >/dev/null
	@cmake --build --preset odr -j $(JOBS)
	@tools/check-one-definition build/odr

# The package as users install it, compiled from scratch; the other tests use the build folder.
pip-install: build/venv/ready packages
	@rm -rf build/pip
	@build/venv/bin/python -m pytest -q --no-header -p no:cacheprovider tests/python/test_install.py

# The checks that a change must pass in addition to the tests.
check: lint odr pip-install oldest-torch

format: build/venv/ready
	@tools/require-packages clang-format
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format -i
	@build/venv/bin/ruff format --quiet .

help:
	@echo 'make build    install missing packages; build the program, build/bin/isentropic, and the tests'
	@echo 'make models   build with PyTorch: the commands scan, train, perplexity and generate'
	@echo 'make run      build with PyTorch; compare the two models in models/ at up to four times their trained length, write report.html'
	@echo 'make pages    build with PyTorch; write the pages of the stored studies to build/pages'
	@echo 'make verify   build; check every claim of the theory, write verify.html'
	@echo 'make seeds    build with PyTorch; check the claims for twenty seeds, and with the larger experiments'
	@echo 'make test     build; run every test (installs a browser, PyTorch in build/venv, and nvcc if there is none)'
	@echo 'make gpu-test  build and test the CUDA kernels (needs nvcc, an NVIDIA GPU, GPU_PYTHON=<a Python with PyTorch for CUDA>)'
	@echo 'make gpu-sanitize  run the kernels under compute-sanitizer, on a GPU'
	@echo 'make gpu-release  build the operators with kernels for sm_80 and sm_90, and PTX for later GPUs, in build/cuda-release/python'
	@echo 'make bench    build; run the benchmarks'
	@echo 'make peers    compare with PyTorch and scikit-learn in one run'
	@echo 'make gpu-peers  compare with PyTorch on a GPU: attention, losses, training, scans'
	@echo 'make architectures  scan a small version of every language model in transformers, and compare with its eager attention'
	@echo 'make oldest-torch  compile the operators against the oldest supported PyTorch'
	@echo 'make asan     run every test under the address and undefined-behaviour sanitisers'
	@echo 'make tsan     run every test under the thread sanitiser'
	@echo 'make lint     check formatting and opening lines, run ruff, and run clang-tidy on the core (TIDY=src: on all of src/)'
	@echo 'make odr      check that every name has one definition, by link-time optimisation and by the symbols of all objects'
	@echo 'make check    lint, odr, an installation with pip, and oldest-torch'
	@echo 'make format   format the sources'
	@echo 'make clean    remove build/'

clean:
	rm -rf build
