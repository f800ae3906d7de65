# The two commands of the README are `make demo` and `make test`; the rest is for developers.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check bench torture clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp per set of extras: installed again only when pyproject.toml changes.
$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.run

demo: $(VENV)/.run
	@scripts/demo.sh $(BIN)/gieok

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each run is saved in .benchmarks; from the second on it is compared with the first one, the baseline.
BASELINE = $(firstword $(sort $(wildcard .benchmarks/*/*.json)))
bench: $(VENV)/.dev
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only --benchmark-autosave \
	  $(if $(BASELINE),--benchmark-compare=$(firstword $(subst _, ,$(notdir $(BASELINE)))))

# Kills writers by the hundred, at random and at every step, and runs ten processes on one home for five minutes.
torture: $(VENV)/.dev
	GIEOK_TORTURE=600 $(BIN)/python -m pytest tests/torture -s

clean:
	rm -rf $(VENV) .demo .eval .benchmarks
