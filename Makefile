# Everything a user or a developer runs: make help.
JOBS := $(shell nproc)
# For what runs on a GPU: a Python with PyTorch for CUDA, pytest and transformers.
GPU_PYTHON ?= $(shell command -v python3)

.PHONY: build models run pages verify seeds test gpu-test gpu-build gpu-release gpu-sanitize bench peers peers-scan gpu-peers architectures python oldest-torch asan tsan lint odr pip-install check format clean help
.PHONY: configure packages test-packages
.DEFAULT_GOAL := build
.NOTPARALLEL: # two of apt-get would fight for its lock; builds and tests have jobs of their own

packages:
	@tools/require-packages $$(cat tools/debian-packages.txt)

# The tests read the pages in a real browser and want a Python of their own.
test-packages:
	@tools/require-packages $$(cat tools/debian-packages.txt tools/debian-packages-tests.txt)

configure: packages
	@cmake --preset cpu >/dev/null

# PyTorch and the tests' clients, in an environment of their own; the operators are built for it.
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

# The pages of the studies that the repository keeps, out of their logs.
pages: models
	@tools/build-pages build/bin/isentropic $(CURDIR)/build/pages

# Every claim of the theory, checked; a page to read.
verify: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli
	build/bin/isentropic verify --html $(CURDIR)/verify.html

# The same for twenty seeds; then the larger experiments, of which those that train transformers need PyTorch.
seeds: models
	@for seed in $$(seq 1 20); do echo "seed $$seed"; build/bin/isentropic verify --seed $$seed >build/verify.txt || { grep ^FAILED build/verify.txt; exit 1; }; done
	@echo "thorough"; build/bin/isentropic verify --thorough >build/verify.txt || { grep ^FAILED build/verify.txt; exit 1; }
	@! grep ^pending build/verify.txt

# PyTorch is installed while what does without it is compiled. The kernels for GPUs are compiled and judged by what the
# compiler says of them; the tests that run them are skipped where there is no GPU, and run in an emulator everywhere.
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

# The operators for every card that is promised: code for sm_80 and sm_90, and PTX for those to come.
gpu-release: packages
	@nvcc=$$(tools/find-cuda-program nvcc) && CUDACXX=$$nvcc cmake --preset cuda-release -DISENTROPIC_PYTHON="$(GPU_PYTHON)" >/dev/null
	@cmake --build --preset cuda-release -j $(JOBS)
	@ctest --preset cuda-release

# The kernels for NVIDIA GPUs, on one; then what Python makes of them.
gpu-test: gpu-build
	build/cuda/tests/test_cuda
	PYTHONPATH=build/cuda/python:$$PYTHONPATH $(GPU_PYTHON) -m pytest -q --no-header -p no:cacheprovider tests/python/test_cuda*.py

# The kernels once more on small cases, under compute-sanitizer: memory, races, memory that nobody wrote.
gpu-sanitize: gpu-build
	@tools/sanitise-kernels build/cuda/tests/test_cuda

bench: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli
	build/bin/isentropic bench attention

# Waiting threads sleep: two pools of them share the cores here.
peers: python
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_peers isentropic_torch
	OMP_WAIT_POLICY=passive build/venv/bin/python bench/peers/attention.py build/peers/isentropic_peers.so
	PYTHONPATH=build/python build/venv/bin/python bench/peers/training.py build/peers/isentropic_peers.so
	PYTHONPATH=build/python build/venv/bin/python bench/peers/small_calls.py
	PYTHONPATH=build/python build/venv/bin/python bench/peers/information.py
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli isentropic-torch
	PYTHONPATH=build/python build/venv/bin/python bench/peers/models.py

# Scans against bertviz and transformer-lens, which want an environment of their own.
peers-scan: python
	@test -x build/peers-venv/bin/python || python3 -m venv build/peers-venv
	@build/peers-venv/bin/pip install --quiet --disable-pip-version-check bertviz==1.4.1 transformer-lens==4.3.0
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_torch
	PYTHONPATH=build/python build/venv/bin/python bench/peers/scan.py --peers build/peers-venv/bin/python

# On a GPU, against PyTorch's attention and, where PYTHONPATH has them, liger-kernel and cut-cross-entropy.
gpu-peers: gpu-build
	@for script in attention losses training scan; do \
	  PYTHONPATH=build/cuda/python:$$PYTHONPATH $(GPU_PYTHON) bench/peers/gpu_$$script.py --json build/gpu_$$script.json || exit 1; done

# Scans of every architecture of transformers that predicts tokens, against its eager attention.
architectures: python
	@cmake --build --preset cpu -j $(JOBS) --target isentropic_torch
	PYTHONPATH=build/python build/venv/bin/python tests/python/architectures.py

# The operators against the headers of the oldest PyTorch that the README promises (a download of 0.9 GB, once).
oldest-torch: python
	@tools/check-oldest-torch $(JOBS)

asan tsan: test-packages
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@tools/run-tests $@ $(JOBS)

# What clang-tidy reads: the core, 34 files in three minutes of one CPU. All of src/ (make lint TIDY=src) is 262 files.
TIDY ?= src/(base|softmax|attention|losses)

# The formats are those of Debian 12's clang-format and of the ruff of tools/python-requirements.txt.
lint: configure build/venv/ready
	@tools/require-packages clang-format clang-tidy libomp-dev
	@tools/check-opening-lines
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
	@build/venv/bin/ruff check --quiet .
	@build/venv/bin/ruff format --quiet --check .
	@echo 'clang-tidy over $(TIDY)'
	@run-clang-tidy -quiet -j $(JOBS) -p build '$(CURDIR)/$(TIDY)/.*\.cpp$$' >build/clang-tidy.txt 2>&1 || { cat build/clang-tidy.txt; exit 1; }

# The linker does not complain of two inline functions that share a name: it keeps one of them.
odr: packages
	@cmake --preset odr >/dev/null
	@cmake --build --preset odr -j $(JOBS)
	@tools/check-one-definition build/odr

# The package as users install it, compiled from nothing; the tests take what the build folder has.
pip-install: build/venv/ready packages
	@rm -rf build/pip
	@build/venv/bin/python -m pytest -q --no-header -p no:cacheprovider tests/python/test_install.py

# What is asked of a change beyond its tests.
check: lint odr pip-install oldest-torch

format: build/venv/ready
	@tools/require-packages clang-format
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format -i
	@build/venv/bin/ruff format --quiet .

help:
	@echo 'make build    install what is missing; build the program, build/bin/isentropic, and the tests'
	@echo 'make models   build with PyTorch: the commands scan, train, perplexity and generate'
	@echo 'make run      build with PyTorch; compare the two models of models/ up to four times their length, write report.html'
	@echo 'make pages    build with PyTorch; the pages of the stored studies, in build/pages'
	@echo 'make verify   build, check every claim of the theory, write verify.html'
	@echo 'make seeds    build with PyTorch; the same for twenty seeds, and the larger experiments'
	@echo 'make test     build, run every test (installs a browser, PyTorch into build/venv, and nvcc if there is none)'
	@echo 'make gpu-test build the CUDA kernels and test them (nvcc, an NVIDIA GPU, GPU_PYTHON=<a Python with PyTorch for it>)'
	@echo 'make gpu-sanitize  the kernels under compute-sanitizer, on a GPU'
	@echo 'make gpu-release  the operators with kernels for sm_80 and sm_90, and PTX for later cards, in build/cuda-release/python'
	@echo 'make bench    build, run the benchmarks'
	@echo 'make peers    compare with PyTorch and scikit-learn in one run'
	@echo 'make gpu-peers  the same on a GPU: attention, losses, training, scans'
	@echo 'make architectures  scan every language model of transformers, made small, and compare with its eager attention'
	@echo 'make oldest-torch  compile the operators against the oldest PyTorch that is promised'
	@echo 'make asan     every test under the address and undefined-behaviour sanitisers'
	@echo 'make tsan     every test under the thread sanitiser'
	@echo 'make lint     formats, opening lines, ruff, and clang-tidy over the core (TIDY=src: over all of src/)'
	@echo 'make odr      check that every name has one definition: link-time optimisation, and the symbols of all objects'
	@echo 'make check    lint, the one-definition rule across libraries, an installation with pip, and the oldest PyTorch'
	@echo 'make format   format the sources'
	@echo 'make clean    remove build/'

clean:
	rm -rf build
