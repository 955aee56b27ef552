# A thin front for CMake: what a stranger types. `make help` lists it.
BUILD ?= build
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all web web-single web-serve demo test test-long test-cross wheel static package coverage fuzz fuzz-long install format clean help

all: ## build the program and the libraries into build/
	@scripts/setup --check build
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -DATTEND_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD)/log 2>&1 \
	  || { cat $(BUILD)/log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS)

demo: ## train with and without attention, show its attention map, compute a worksheet
	@scripts/setup build demo
	@echo "Building ..."; $(MAKE) all >/dev/null
	@scripts/demo $(BUILD)/attend

test: ## build and run every test, also under the sanitizers
	@scripts/setup build test webtest
	@scripts/test

test-long: ## run what takes too long for `make test`; PARTS="bits …" for some of it
	@scripts/setup build test
	@scripts/test-long $(PARTS)

test-cross: ## build for other machines and musl, and compare digests; MACHINES="aarch64 musl" for some
	@scripts/setup build test
	@scripts/test-cross $(MACHINES)

coverage: ## lines and branches that the tests run: text, and HTML in build-coverage/report
	@scripts/setup build test coverage
	@scripts/coverage

fuzz: ## fuzz every reader for a minute each (needs clang); NAMES="model json" for some
	@scripts/setup build fuzz
	@tests/fuzz/run $(or $(SECONDS),60) $(NAMES)

fuzz-long: ## the same for ten minutes each on all cores, with a table; SECONDS=… NAMES=…
	@scripts/setup build fuzz
	@JOBS=$(JOBS) tests/fuzz/run $(or $(SECONDS),600) $(NAMES)

wheel: ## build the Python wheel into dist/ (needs PyPI, or scikit-build-core)
	@scripts/setup build
	@scripts/wheel

static: ## build one file for any Linux of this processor, with musl: build-static/attend
	@scripts/setup build musl
	@scripts/static

package: ## build Debian packages into dist/, and try them
	@scripts/setup build package
	@scripts/package --test

web: ## build the page and its WebAssembly into build/web
	@scripts/setup web
	@scripts/web $(BUILD)/web

web-single: web ## pack the page into one file that opens from disk: build/attend.html
	@python3 scripts/web-single $(BUILD)/web $(BUILD)/attend.html

web-serve: ## serve build/web on this machine alone: PORT=8000
	@test -f $(BUILD)/web/attend.wasm || $(MAKE) web
	@python3 scripts/web-serve $(BUILD)/web $(or $(PORT),8000)

install: ## install into PREFIX (/usr/local), below DESTDIR if given
	@test -d $(BUILD) || $(MAKE) all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format: ## format the C sources
	@find include src tools tests bench python \( -name '*.c' -o -name '*.h' \) -exec clang-format -i {} +

clean: ## remove everything that was built
	@rm -rf build build-test build-asan build-minimal build-tsan build-long build-cross build-fuzz build-coverage build-wheel build-static build-package dist demo-out

help: ## list these
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile
