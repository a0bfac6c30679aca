# The commands of this checkout. `make demo` and `make test` need nothing but make itself on a bare Debian machine:
# each target installs what it misses when it may, and names the packages when it may not.

# The interpreter that the module is built for and that the server runs. Never whatever `python3` happens to be first.
PYTHON ?= /usr/bin/python3
export PYTHON
PREFIX ?= /usr/local
# Where the demo listens, and which of its files: app (Django), flask_app or bare_app.
BIND ?= 127.0.0.1:8000
APP ?= app
# How long `make fuzz` gives each target.
FUZZ_SECONDS ?= 60
# More words for scripts/test.
TEST_OPTIONS ?=

.PHONY: help demo build test test-unit test-blackbox lint format bench bench-realtime probe soak fuzz sanitize sabotage wheel install clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^## //p' Makefile

## make demo            build, then serve examples/demo on http://127.0.0.1:8000 (APP=flask_app, APP=bare_app: the same again)
demo:
	@scripts/setup build demo
	@scripts/build release program
	@echo "open http://$(BIND)/ (end with Ctrl-C)"
	@exec build/release/m0serve $(APP) --app-dir examples/demo --bind $(BIND)

## make test            lint, release build, unit and black-box tests
test:
	@scripts/setup build test lint
	@scripts/test $(TEST_OPTIONS) lint build unit blackbox

## make test-unit       release build and unit tests alone (test-blackbox: the others alone)
test-unit test-blackbox: test-%:
	@scripts/setup build test
	@scripts/test build $*

## make build           the release build; afterwards build/release/m0serve runs from any directory
build:
	@scripts/setup build
	@scripts/build release

## make lint            walls between rooms, format, clang-tidy, self-contained headers, typed Python
lint:
	@scripts/setup build lint test
	@scripts/test lint

## make format          put every source file in its format
format:
	@scripts/setup lint
	@scripts/lint --fix format black

## make sanitize        the suite under address and undefined, the unit tests under thread sanitizer
sanitize:
	@scripts/setup build test sanitize
	@scripts/test --preset asan build unit blackbox
	@scripts/test --preset tsan build unit

## make fuzz            every fuzz target for FUZZ_SECONDS (60)
fuzz:
	@scripts/setup build test sanitize
	@scripts/test --preset asan --fuzz-seconds $(FUZZ_SECONDS) build fuzz

## make sabotage        break the rules that matter one at a time; each must turn its test red
sabotage:
	@scripts/setup build test
	@scripts/test sabotage

## make wheel           build the wheel and serve one request from it, in a virtual environment
wheel:
	@scripts/setup build wheel
	@scripts/test wheel

## make bench           paired runs against other servers: a table, and a JSON file in bench/results
bench:
	@scripts/setup build bench
	@scripts/build release
	@bench/run

## make bench-realtime  fan-out beside nchan and Pushpin, where they are installed: a table, and a JSON file in bench/results
bench-realtime:
	@scripts/setup build
	@scripts/setup realtime || echo "what is missing of the peers is left out"
	@scripts/build release
	@bench/realtime

## make soak            realtime under load for minutes: stalled clients, mass comebacks, kills, 10,000 held connections
soak:
	@scripts/setup build test
	@scripts/build release
	@$(PYTHON) tests/soak

## make probe           the route that blocks beside the one that does not: tables, and what they must show
probe:
	@scripts/setup build bench
	@scripts/build release
	@bench/probe

## make install         launcher in PREFIX/bin, package in PREFIX/lib/m0serve (PREFIX=/usr/local)
install: build
	@cmake --install build/release --prefix $(abspath $(PREFIX))

## make clean           remove what was built
clean:
	@rm -rf build dist
