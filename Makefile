# Set-up and tasks. Everything happens inside .venv; delete it to start over.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

BENCHMARKS = assembly eigen distance diffusion nonlinear shot synthetic prepare evaluation

.PHONY: help demo test lint bench docs clean

help:
	@echo "make demo   set up and run the main job on shapes it makes, some minutes; look into demo/"
	@echo "make test   set up and run all tests"
	@echo "make lint   check format, style and types"
	@echo "make bench  measure speed and memory against other packages, half an hour"
	@echo "make docs   build the documentation into site/, a few minutes: every picture is drawn anew"
	@echo "make clean  remove the virtual environment and what was built"

demo: $(VENV)/ready-demo
	$(BIN)/finsler demo --out demo

test: $(VENV)/ready-test
	$(BIN)/python -m pytest

lint: $(VENV)/ready-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/ready-test
	for question in $(BENCHMARKS); do $(BIN)/python benchmarks/$$question.py || exit 1; done

docs: $(VENV)/ready-docs
	$(BIN)/mkdocs build --strict
	@echo "look at it: $(BIN)/mkdocs serve, or open site/index.html"

clean:
	rm -rf $(VENV) demo site build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

$(VENV)/ready-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing finsler and what the demo draws and learns with ..."
	$(PIP) --editable ".[learn,view]"
	@touch $@

$(VENV)/ready-test: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing finsler, the test tools and the packages it is compared with ..."
	$(PIP) --editable ".[dev]"
	@touch $@

$(VENV)/ready-docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing finsler and what its documentation is built with ..."
	$(PIP) --editable ".[docs]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "error: finsler needs Python 3.11 or newer; say which with make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "error: this Python cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv"; exit 2; }
