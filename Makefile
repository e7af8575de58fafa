# Set-up and tasks. Everything happens inside .venv; delete it to start over.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CONSTRAINTS ?= constraints.txt
PIP = $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS)

BENCHMARKS = first_use main_jobs assembly eigen distance diffusion nonlinear shot synthetic prepare evaluation

.PHONY: help demo test lint package model bench reliability minimal newest audit docs clean

help:
	@echo "make demo         set up and run the main job on shapes it makes, some minutes; look into demo/"
	@echo "make test         set up and run all tests"
	@echo "make lint         check format, style and types"
	@echo "make package      build wheel and sdist into build/dist, check them, and use the wheel in an empty environment"
	@echo "make model        build the model in the box anew: shapes, training, weights; an hour or two"
	@echo "make bench        measure speed and memory against other packages, half an hour"
	@echo "make reliability  fuzz, disturb and load everything, some hours; writes docs/reliability.md"
	@echo "make minimal      run the tests with the lowest versions that are allowed"
	@echo "make newest       run the tests with the newest versions there are"
	@echo "make audit        look up vulnerabilities and licences of what is depended on; needs a connection"
	@echo "make docs         build the documentation into site/, a few minutes: every picture is drawn anew"
	@echo "make clean        remove the virtual environment and what was built"

demo: $(VENV)/ready-demo
	$(BIN)/finsler demo --out demo

test: $(VENV)/ready-test
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

lint: $(VENV)/ready-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

package:
	rm -rf build/dist build/empty build/tools
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip --disable-pip-version-check install --quiet build twine
	build/tools/bin/python -m build --outdir build/dist > build/package.log
	build/tools/bin/twine check --strict build/dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS) build/dist/*.whl
	build/empty/bin/finsler --version
	cd build && empty/bin/finsler data synthesize quadruped dogs --train 1 --test 1 --poses 1 --vertices 800 --overwrite \
	  && empty/bin/finsler match dogs/off/quadruped_i0*.off -k 60 -o map.npz --overwrite

model: $(VENV)/ready-demo
	$(BIN)/python -m finsler.nn.training.box build/model src/finsler/descriptors

bench: $(VENV)/ready-test
	for question in $(BENCHMARKS); do $(BIN)/python benchmarks/$$question.py || exit 1; done

reliability: $(VENV)/ready-test
	$(BIN)/python benchmarks/reliability.py

# Old libraries use what the newest of their own dependencies deprecate.
minimal: export PYTEST_ADDOPTS = -W default::DeprecationWarning
minimal: build/minimal.txt
newest: build/newest.txt
minimal newest:
	$(MAKE) test VENV=$(VENV)/$@-$(notdir $(PYTHON)) CONSTRAINTS=$<

build/minimal.txt: pyproject.toml
	@mkdir -p build
	grep --only-matching '"[a-z0-9-]\+>=[0-9.]\+"' $< | tr -d '"' | sed '/setuptools/d; s/>=/==/' > $@

build/newest.txt:
	@mkdir -p build
	@touch $@

audit: $(VENV)/ready-test
	$(BIN)/python -m pytest tests/test_licences.py
	$(BIN)/python -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip --disable-pip-version-check install --quiet pip-audit
	$(VENV)/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

docs: $(VENV)/ready-docs
	$(BIN)/mkdocs build --strict
	@echo "look at it: $(BIN)/mkdocs serve, or open site/index.html"

clean:
	rm -rf $(VENV) demo site build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache

$(VENV)/ready-demo: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "installing finsler and what the demo draws and learns with ..."
	$(PIP) --editable ".[learn,view]"
	@touch $@

$(VENV)/ready-test: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "installing finsler, the test tools and the packages it is compared with ..."
	$(PIP) --editable ".[dev]"
	@touch $@

$(VENV)/ready-docs: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "installing finsler and what its documentation is built with ..."
	$(PIP) --editable ".[docs]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "error: finsler needs Python 3.11 or newer; say which with make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "error: this Python cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv"; exit 2; }
