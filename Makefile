# Everything a developer or CI runs. `make` alone lists the targets.

BIN := .venv/bin
PYTHONS := $(PYTHON) python3 python3.13 python3.12 python3.14 python
ARGS ?=
# Most of a test's time is another process starting. JOBS=0 runs all in one process, for --pdb.
JOBS ?= 2

# The first Python that is new enough and can make a virtual environment. Looked for only when
# there is none yet; where nothing fits, make ends with this one line.
find_python = $(or $(shell for python in $(PYTHONS); do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null \
	&& { echo "$$python"; break; }; done),$(error no Python 3.12 or newer with the venv module \
	found; install one, or name it with PYTHON=/path/to/python3))

NODE_PEERS := tests/peers/node
INSTALLED := .venv/.installed .venv-mcp1/.installed $(NODE_PEERS)/node_modules/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo fix lint type test cover golden bench check

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## make .venv and the tests' peers
	@echo "ready: make demo shows what it does, make check runs what a commit must pass"

demo: .venv/.installed ## record and replay the bundled agent
	@$(BIN)/mcprec demo

fix: .venv/.installed ## format, mend what can be mended, name the rest
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --quiet

lint: .venv/.installed ## ruff and codespell
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/codespell

type: .venv/.installed ## mypy and pyright, both strict
	@$(BIN)/mypy
	@$(BIN)/pyright

test: $(INSTALLED) ## pytest; make test ARGS="-k keys"
	@$(BIN)/pytest -n $(JOBS) --dist loadfile $(ARGS)

cover: $(INSTALLED) ## pytest with coverage, lines and branches
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

golden: .venv/.installed ## rewrite what tests/golden expects; review the diff
	@$(BIN)/python scripts/golden.py

bench: .venv/.installed ## measure speed; make bench ARGS="--only a,c"
	@$(BIN)/python scripts/bench.py $(ARGS)

check: lint type test ## what a commit must pass

.venv/.installed: pyproject.toml scripts/constraints.txt
	@[ -x $(BIN)/python ] || "$(find_python)" -m venv .venv
	@echo "installing mcprec and its tools into .venv (a minute or two, once)"
	@$(BIN)/python -m pip install -qq --editable '.[dev]' --constraint scripts/constraints.txt
	@touch $@

.venv-mcp1/.installed: pyproject.toml scripts/constraints-mcp1.txt
	@[ -x .venv-mcp1/bin/python ] || "$(find_python)" -m venv .venv-mcp1
	@echo "installing mcprec beside MCP SDK 1 into .venv-mcp1"
	@.venv-mcp1/bin/python -m pip install -qq --editable . 'mcp<2' \
		--constraint scripts/constraints-mcp1.txt
	@touch $@

# Tests skip what needs these peers, so a machine without npm goes on.
$(NODE_PEERS)/node_modules/.installed: $(NODE_PEERS)/package.json
	@if npm --version >/dev/null 2>&1 && \
		node -e 'process.exit(+(parseInt(process.versions.node) < 20))'; then \
		echo "installing Node peers into $(NODE_PEERS)"; \
		npm install --prefix $(NODE_PEERS) --no-package-lock --ignore-scripts --no-audit --no-fund \
			--loglevel=error >/dev/null && touch $@; \
	else echo "no npm with Node 20 or newer found: tests with Node peers are skipped"; fi
