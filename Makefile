JOBS := $(shell nproc)

.PHONY: build run test bench asan tsan format clean help configure packages
.DEFAULT_GOAL := build

packages:
	@tools/require-packages $$(cat tools/debian-packages.txt)

configure: packages
	@cmake --preset cpu >/dev/null

build: configure
	@cmake --build --preset cpu -j $(JOBS)

run: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-cli
	build/bin/isentropic lengths --svg lengths.svg

test: build
	@tools/run-tests cpu $(JOBS)

bench: configure
	@cmake --build --preset cpu -j $(JOBS) --target isentropic-bench
	build/bin/isentropic-bench

asan tsan: packages
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@tools/run-tests $@ $(JOBS)

format:
	@tools/require-packages clang-format
	@git ls-files '*.cpp' '*.hpp' '*.cu' | xargs clang-format -i

help:
	@echo 'make build    install what is missing, build build/bin/isentropic'
	@echo 'make run      build, measure attention over growing lengths, draw lengths.svg'
	@echo 'make test     build, run every test'
	@echo 'make bench    build, run the benchmarks'
	@echo 'make asan     every test under the address and undefined-behaviour sanitisers'
	@echo 'make tsan     every test under the thread sanitiser'
	@echo 'make format   format the sources with clang-format'
	@echo 'make clean    remove build/'

clean:
	rm -rf build
