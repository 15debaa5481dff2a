# Every target prepares .venv first (see .ci/prepare): once, and without the network after that.

PYTHON := .venv/bin/python
DEMO := $(PYTHON) -m tests.e2e.demo
BENCH := $(PYTHON) -m tests.benchmarks.bench

SOAK := RESUMED_TEST_KILLS=1000 $(PYTHON) -m pytest -s tests/crash/test_daemon_under_load.py

.PHONY: demo test check soak mutations bench schema clean prepare codex lint

demo: prepare ## Resume on real recordings and real repositories, as a person sees it
	@$(DEMO)

test: prepare codex lint ## everything that CI runs
	@$(PYTHON) -m pytest

check: prepare lint ## the fast part: style, types, imports, the rules of the repository
	@$(PYTHON) -m pytest tests/repository

soak: prepare ## kills the daemon a thousand times under load, about a quarter of an hour
	@$(SOAK)

mutations: prepare ## takes each protection of the storage away and expects a suite to notice
	@$(PYTHON) -m tests.crash.mutations

bench: prepare ## figures beside their anchors; no test depends on them
	@$(BENCH)

schema: prepare ## writes schema.json and README.md of the protocol and of the events
	@$(PYTHON) -m resumed.protocol.schema
	@$(PYTHON) -m resumed.daemon.event_reference

clean: ## removes whatever make made, the virtual environment too
	@rm -rf .venv .cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

prepare:
	@sh .ci/prepare

# The tests with the real Codex need its program; a developer who has none runs everything else.
codex: prepare
	@if [ "$$CI" = true ]; then sh .ci/codex; fi

lint: prepare
	@.venv/bin/ruff check --quiet
	@.venv/bin/ruff format --check --quiet
	@.venv/bin/mypy --no-error-summary
	@.venv/bin/lint-imports --no-logo > .venv/lint-imports.txt || { cat .venv/lint-imports.txt; exit 1; }
