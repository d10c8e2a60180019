# A thin front: every target is one step of CMake or a script.
BUILD ?= build
GENERATOR := $(shell command -v ninja >/dev/null 2>&1 && echo -G Ninja)

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD)

$(BUILD)/CMakeCache.txt:
	@cmake -S . -B $(BUILD) $(GENERATOR)

clean:
	rm -rf $(BUILD) build-*

.PHONY: all clean
