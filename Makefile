# Everything is set up in .venv by the first target that needs it; uv is used when it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
ENGINES := $(VENV)/.engines
DOCS := $(VENV)/.docs
PROCESSES ?= 2

LOWEST := .venv-lowest
LOWEST_READY := $(LOWEST)/.ready
LOWEST_PYTHON ?= python3.11
LANES ?= 1 2 4 8

.PHONY: demo quick test coverage test-lanes test-lowest test-long lint bench docs dist clean

demo: $(DEMO_READY)
	$(BIN)/sixfold demo

# a first answer in two minutes: what `make lint` checks, and the tests that find most mistakes soonest
QUICK := tests/scalar tests/replay tests/show tests/verify tests/laws/test_book_and_fast.py \
  tests/test_errors.py tests/test_imports.py tests/test_public.py tests/test_project.py \
  tests/test_test_imports.py tests/test_optional.py
quick: lint
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal $(QUICK)

test: lint
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

# Branch coverage of the whole suite, or of some tests: make coverage TESTS="tests/control tests/sweeps"
coverage: $(READY)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n $(PROCESSES) --dist worksteal $(TESTS)
	$(BIN)/python -m coverage combine
	$(BIN)/python -m coverage report

test-long: $(READY)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m long
	SIXFOLD_LAWS=all $(BIN)/python -m pytest tests/laws -n $(PROCESSES) -q
	$(BIN)/python -m tests.surveys.random_trees --trees 10000 --every 10 --processes $(PROCESSES)
	$(BIN)/python -m tests.formats.mutations --files 10000 --processes $(PROCESSES)
	SIXFOLD_MJCF_MUTANTS=10000 $(BIN)/python -m pytest tests/formats/test_mjcf_errors.py -q
	$(BIN)/python -m tests.surveys.robots_vs_pinocchio
	$(BIN)/python -m tests.surveys.derivatives --trees 1000
	$(BIN)/python -m tests.surveys.regressors --trees 1000
	$(BIN)/python benchmarks/robots_vs_mujoco.py
	$(BIN)/python -m tests.adversarial --models 5000 --processes $(PROCESSES)
	$(BIN)/python -m tests.simulation.damaged --files 5000
	$(BIN)/python -m tests.fuzz all --seconds 60
	$(BIN)/python -m tests.battery.run --calls 24000 --processes $(PROCESSES)
	$(BIN)/python -m tests.long.many_models --models 4000 --minutes 120
	$(BIN)/python -m tests.long.forks --forks 500
	$(BIN)/python -m tests.long.compile_threads
	$(BIN)/python -m tests.long.cold_processes
	$(BIN)/python -m tests.long.killed_writers
	$(BIN)/python -m tests.long.full_disk
	$(BIN)/python -m tests.long.foreign_folders
	$(BIN)/python -m tests.long.dropped_boxes
	$(BIN)/python -m tests.long.struck_boxes
	$(BIN)/python -m tests.long.standing_quadruped
	$(BIN)/python -m tests.long.contact_states
	$(BIN)/python -m tests.long.identified_panda --trials 200
	$(BIN)/python -m tests.long.killed_sweeps
	$(BIN)/python benchmarks/cluster_vs_threads.py
	$(BIN)/python -m tests.long.optimal_shares --starts 100
	$(BIN)/python -m tests.long.humanoid_trajectory
	$(BIN)/python -m tests.long.opencl_robots
	$(BIN)/python -m tests.long.mutants --mutants 60

# allocators that fill and guard memory: Python's own and the C library's
.PHONY: test-memory
test-memory: $(READY)
	PYTHONMALLOC=debug MALLOC_PERTURB_=165 MALLOC_CHECK_=3 \
	  $(BIN)/python -X dev -m pytest -n $(PROCESSES) tests/llvm tests/evaluate

# what depends on how many states are worked out at once, with each number of them
test-lanes: $(READY)
	@for n in $(LANES); do \
	  echo "$$n lanes"; \
	  SIXFOLD_LANES=$$n $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal \
	    tests/llvm tests/evaluate tests/laws tests/simulation tests/dynamics \
	    tests/control/test_inverse_kinematics.py || exit 1; \
	done

# the lowest versions that pyproject.toml admits, in a virtual environment of their own; newer
# versions of pyarrow want NumPy 2
test-lowest: $(LOWEST_READY)
	$(LOWEST)/bin/python -m pytest -n $(PROCESSES) --dist worksteal \
	  tests/scalar tests/spatial tests/model tests/dynamics tests/llvm tests/evaluate \
	  tests/laws tests/simulation tests/cli tests/test_errors.py tests/test_imports.py

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python benchmarks/sizes.py

# the documentation site; a warning is an error
docs: $(DOCS)
	$(BIN)/python -m sphinx -b html -q -W --keep-going docs build/site
	@echo "build/site/index.html"

# the site in Chromium: no request to others, no dead link, nothing cut, search
.PHONY: check-site
check-site: docs
	$(BIN)/python -m tests.long.site build/site

bench: $(ENGINES)
	@mkdir -p build
	$(BIN)/python -m benchmarks bench --chains --json build/bench.json --plot build/bench.svg
	$(BIN)/python -m tests.surveys.operation_counts

# wheel and source archive, checked, and the wheel installed and run on its own
DIST := .venv-dist
dist:
	rm -rf dist $(DIST)
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check build twine check-wheel-contents
	$(DIST)/bin/python -m build --outdir dist .
	$(DIST)/bin/python -m twine check --strict dist/*
	$(DIST)/bin/check-wheel-contents dist/*.whl
	$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd dist && ../$(DIST)/bin/python -m sixfold check puma560 --samples 2 --no-formulations
	@ls -l dist

# the demo needs the library and what it depends on, nothing else
$(DEMO_READY): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --python $(PYTHON) --allow-existing $(VENV) && \
	  VIRTUAL_ENV=$(VENV) uv pip install --quiet -c constraints.txt -e .; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .; \
	fi
	@touch $(DEMO_READY)

$(READY): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --python $(PYTHON) --allow-existing $(VENV) && \
	  VIRTUAL_ENV=$(VENV) uv pip install --quiet -c constraints.txt -e ".[test]"; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"; \
	fi
	@touch $(READY)

$(ENGINES): $(READY)
	@if command -v uv >/dev/null 2>&1; then \
	  VIRTUAL_ENV=$(VENV) uv pip install --quiet -c constraints.txt -e ".[bench]"; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"; \
	fi
	@touch $(ENGINES)

$(DOCS): $(READY)
	@if command -v uv >/dev/null 2>&1; then \
	  VIRTUAL_ENV=$(VENV) uv pip install --quiet -c constraints.txt -e ".[docs]"; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"; \
	fi
	@touch $(DOCS)

$(LOWEST_READY): pyproject.toml constraints-lowest.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --python $(LOWEST_PYTHON) --allow-existing $(LOWEST) && \
	  VIRTUAL_ENV=$(LOWEST) uv pip install --quiet -c constraints-lowest.txt \
	    -e ".[data,learn,mjcf,report,robots,symbolic,view]" gmpy2 hypothesis mpmath "pyarrow<19" pytest pytest-xdist; \
	else \
	  $(LOWEST_PYTHON) -m venv $(LOWEST) && \
	  $(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	    -c constraints-lowest.txt \
	    -e ".[data,learn,mjcf,report,robots,symbolic,view]" gmpy2 hypothesis mpmath "pyarrow<19" pytest pytest-xdist; \
	fi
	@touch $(LOWEST_READY)

clean:
	rm -rf $(VENV) $(LOWEST) .venv-dist dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
