# Two commands on a fresh machine: `make demo` and `make test`. Everything stays in this folder,
# except the models, which go to the user's cache folder (or RULEMEM_CACHE_DIR) and are kept there.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: help setup models demo test lint check clean

help:
	@echo "make setup   virtual environment with the package"
	@echo "make models  fetch and verify the models"
	@echo "make demo    a conversation through add, learn and ask"
	@echo "make test    all tests"
	@echo "make check   format, lint, types and all tests"
	@echo "make clean   remove what was made here; the models stay in the cache"

setup: $(STAMP)

# Installed anew when the dependencies change, or when the folder has moved: the environment
# holds absolute paths.
ifneq "$(shell cat $(STAMP) 2>/dev/null)" "$(CURDIR)"
.PHONY: $(STAMP)
endif
$(STAMP): pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@printf '%s\n' "$(CURDIR)" > $(STAMP)

models: setup
	$(RUN) -m rulemem models fetch

demo: models
	$(RUN) -m rulemem demo --examples examples

test: models
	$(RUN) -m pytest

lint: setup
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

check: lint test

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
