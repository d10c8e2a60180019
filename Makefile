# A thin front: every target is one step of CMake or a script.
#
#   make            build/rankscope, with the packages of `scripts/install-deps build`
#   make demo       installs what is missing, builds, and analyses a sample job
#   make check      everything that CI runs; installs what is missing
#   make bench      the benchmarks; writes bench/RESULTS.md; installs what is missing
#   make docs       build/site: pages, reference of the Python package and of the C library, notebooks; installs what is missing
#   make install    PREFIX (/usr/local) and DESTDIR are honoured
#   make format     clang-format over the tree
#   make clean
BUILD ?= build
PREFIX ?= /usr/local
export DESTDIR
GENERATOR := $(shell command -v ninja >/dev/null 2>&1 && echo -G Ninja)

all: configure
	@cmake --build $(BUILD)

# The tests need more packages: `make check` switches them on. A cache without build files is what a configuration left that
# failed: it would fix the generator and hide the packages that have come since, so it goes, before and behind.
CACHE = $(BUILD)/CMakeCache.txt $(BUILD)/CMakeFiles
configure:
	@[ -f $(BUILD)/build.ninja ] || [ -f $(BUILD)/Makefile ] || { \
	  rm -rf $(CACHE); \
	  cmake -S . -B $(BUILD) $(GENERATOR) -DRS_TESTS=OFF || { \
	    rm -rf $(CACHE); \
	    echo "make: where packages are missing, scripts/install-deps build installs them" >&2; \
	    exit 1; \
	  }; \
	}

demo:
	@scripts/install-deps build
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)

check:
	@scripts/install-deps check
	@scripts/check

bench:
	@scripts/install-deps bench
	@bench/run

docs:
	@scripts/install-deps docs
	@$(MAKE) --no-print-directory all
	@scripts/docs

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@scripts/sources | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-*

.PHONY: all configure demo check bench docs install format clean
