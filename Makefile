# The door of a checkout. Every target sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
# One more than the cores of CI: daemons that start and turns that settle are waited for.
WORKERS ?= 3
# Bytecode is kept, whatever the environment says: a daemon that tests start then starts sooner.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10

.PHONY: help setup test quick rules test-client test-security test-editors test-faults lint types unit run demo year bench load fuzz soak kills manual schema pins dist clean

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv, once, and again when pyproject.toml changes

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memoryd needs Python 3.11 or newer; say make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

test: lint types unit  ## what CI runs: lint, types and all tests

lint: setup  ## ruff, all rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup  ## mypy, strict, over both packages, the tests and the benchmarks
	$(BIN)/mypy

test-client: setup  ## memoryd inside the real Claude Code (needs its command: CLAUDE=...)
	$(BIN)/python -m tests.scenarios.real_client
	$(BIN)/python -m tests.scenarios.real_client_notes
	$(BIN)/python -m tests.scenarios.real_client_model

test-security: setup  ## what an attacker tries, counted: tried and violations, ten minutes at most
	$(BIN)/python -m tests.security

unit: setup  ## all tests but those in editors, the crash loops thinned
	$(PYTEST) --ignore=tests/editors

test-editors: setup  ## the clients in real editors and shells; what is not installed is skipped, with the reason
	$(BIN)/python -m pytest -n 0 -rs tests/editors

# Large inputs, retries that wait, and long simulations are left to `make test`.
LONG := giant or thousand or megabyte or hostile_text or thirty_days or every_byte or endless or a_fault or race

quick: setup  ## all tests but those with real processes, large inputs or waits, with fewer examples
	HYPOTHESIS_PROFILE=quick $(PYTEST) --ignore=tests/scenarios --ignore=tests/editors -k 'not ($(LONG))'

rules: setup  ## only the tests of pure code, in seconds
	HYPOTHESIS_PROFILE=quick $(PYTEST) --ignore=tests/scenarios --ignore=tests/editors -m rules

run: setup  ## serve in the foreground, with whatever key there is
	$(BIN)/memoryd serve

demo: setup  ## the whole life of a memory, offline, in a throwaway home
	$(BIN)/memoryd demo

manual: setup  ## regenerate the manual page and the shell completions
	$(BIN)/python client/generate.py

schema: setup  ## regenerate what describes the socket: the OpenRPC document
	$(BIN)/python client/generate_schema.py

pins: setup  ## requirements.txt: what the daemon runs with, pinned with hashes (needs an index, takes minutes)
	$(BIN)/python client/pin.py

year: setup  ## a synthetic year of one project, dreamt every night by rules and by a scripted model, against its truth
	PYTHONPATH=.:client $(BIN)/python benchmarks/dream_year.py

bench: setup  ## figures beside baselines, in one run
	$(BIN)/python benchmarks/run.py

load: setup  ## a tenth of 10,000 developers against one Postgres, for a few minutes (docs/scale.md)
	PYTHONPATH=.:client $(BIN)/python benchmarks/load.py

fuzz: setup  ## the properties again, with examples that nobody has tried yet
	HYPOTHESIS_PROFILE=fuzz $(PYTEST) -m hypothesis --timeout=1200

soak: setup  ## 20 minutes of work, 100,000 events: does anything grow? (shorter: SOAK='--minutes 2')
	PYTHONPATH=.:client $(BIN)/python benchmarks/soak.py $(SOAK)

kills: setup  ## what make test thins out, whole: every crash loop, 200 extractions with kills (long)
	$(PYTEST) --soak $$(grep -rl 'support.thinning' tests --include='test_*.py')
	PYTHONPATH=.:client $(BIN)/python benchmarks/kills.py --soak

test-faults: setup  ## kills, full and broken disks, damage, floods: tried and violations (30 minutes; FAULTS=--quick)
	$(BIN)/python -m tests.faults $(FAULTS)

dist: setup  ## the wheel and the sdist, built twice and tried in new environments (needs an index)
	$(BIN)/python -m tests.support.distribution

.PHONY: editor-pictures
editor-pictures: setup  ## the pictures of editors in docs/ (needs nvim, emacs and tmux)
	$(BIN)/python -m tests.support.editor_pictures

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
