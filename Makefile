# Every target creates the environment it needs from python3 (>= 3.11) and the package registry.
PYTHON ?= python3
VENV := .venv
CORE := .venv-core
DEMO := .venv-demo
TYPES := .venv-types
BIN := $(VENV)/bin
# Two test workers, as in CI. Each starts with half of the tests in file order and steals tests from
# the other at the end, so that fixtures and kernels of neighbouring tests are created once.
WORKERS := -q -n 2 --dist worksteal
PYTEST := $(BIN)/python -m pytest $(WORKERS)

# Allow the bytecode cache even if the caller disables it: without it, every process recompiles the
# package, and pytest rewrites the assertions of all tests in each worker.
unexport PYTHONDONTWRITEBYTECODE

# `make test` runs the fast tests; `make test-long` the long ones, and all kernels without compiler.
PART := not long
# Tests independent of extras, which would repeat the results of the other environment.
SAME_WITHOUT_EXTRAS := $(addprefix --ignore=tests/test_, site.py compile.py) $(addprefix --ignore=tests/policies/test_, \
	conformance.py rmed_and_copeland.py elimination_and_sparring.py adversarial.py king_panel.py)

# Number of kills per store in `make arena-kills`, in blocks of 50 with separate voters.
KILLS ?= 500
# Number of inputs and seed of `make fuzz`; equal values give equal inputs.
INPUTS ?= 100000
SEED ?= 0

.DEFAULT_GOAL := help
.PHONY: help demo arena axe arena-kills arena-outages arena-honest arena-fuzz test test-long test-core test-nojit test-slow test-times test-states test-wheel release-check lint types docs bench bench-logs bench-arena study-logs house fuzz reproduce ablation hindsight dts-speed demo-figure weak-spots panel few-votes log-slates log-features goals slates requests match-cost limit king0 fleeting nowinner champion which-policy stale lock clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: $(DEMO)/.ready ## compare eight policies in a changing world: table with intervals, page
	@$(DEMO)/bin/driftduel demo --out demo

arena: $(DEMO)/.ready ## serve an arena with simulated voters: opens the vote page and the board; Ctrl-C ends it
	@$(DEMO)/bin/driftduel arena demo

test: $(VENV)/.ready $(CORE)/.ready ## fast tests, with all extras and without extras
	$(PYTEST) -m "$(PART) and not slow"
	$(MAKE) --no-print-directory test-core PART="$(PART)"

test-long: ## long tests: all policies and compositions, study, site, kernels without compiler
	$(MAKE) --no-print-directory test PART=long
	$(MAKE) --no-print-directory test-nojit

axe: ## install axe-core for accessibility tests of the pages (needs npm); they skip without it
	npm ci --prefix requirements/npm --no-audit --no-fund --ignore-scripts --silent

test-core: $(CORE)/.ready ## fast tests in an environment without extras
	$(CORE)/bin/python -m pytest $(WORKERS) -m "$(PART) and not slow and not kernels" tests $(SAME_WITHOUT_EXTRAS)

test-nojit: $(VENV)/.ready ## tests of kernels as plain Python, compiler off
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "kernels and not slow"

test-slow: $(VENV)/.ready ## tests that exceed the time limit of CI
	$(PYTEST) -m slow

test-times: $(VENV)/.ready ## fast tests with the CPU time of each file (PART=long: long tests)
	$(PYTEST) -p tests.costs -m "$(PART) and not slow"

test-states: $(VENV)/.ready ## load 20,000 damaged saved states of all policies: no crash, no hang
	$(PYTEST) -m "slow or not slow" tests/policies/test_damaged_states.py

arena-kills: $(VENV)/.ready ## kill the arena server KILLS times (500) under load, per store: no acknowledged vote is lost
	for seed in $$(seq 1 $$((($(KILLS) + 49) / 50))); do \
	  KILLS=50 SEED=$$seed $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_kills.py || exit 1; done

arena-outages: $(VENV)/.ready ## restart the database and cut its connection 20 times under load; 200 power cuts; rolling restart
	OUTAGES=20 $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_outages.py tests/arena/test_durability.py tests/arena/test_servers.py

arena-honest: $(VENV)/.ready ## simulate 1,000 arenas per statement of the board: rate of false statements
	ARENAS=1000 $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_honest.py tests/arena/test_tag_worlds.py

arena-fuzz: $(VENV)/.ready ## 100,000 valid and invalid requests to the arena server; long Schemathesis run
	$(BIN)/python -m tests.fuzz --surface arena --inputs 33500 --seed $(SEED)
	DRIFTDUEL_EXAMPLES=200 $(BIN)/python -m pytest -q -m "long or not long" tests/arena/test_schemathesis.py

test-wheel: $(VENV)/.ready ## install the wheel with pip into empty projects, on Python 3.11 to 3.13
	$(PYTEST) -m "slow or not slow" tests/test_wheel.py

release-check: $(VENV)/.ready ## check a release: version, changelog and tag agree; wheel and sdist install and run (TAG=v0.3.0)
	DRIFTDUEL_TAG=$(TAG) $(PYTEST) -m "slow or not slow" tests/test_release.py tests/test_wheel.py
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

lint: $(VENV)/.ready ## ruff, strict types, import contracts, word list
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/prose_check.py

types: $(VENV)/.ready $(TYPES)/.ready ## pyright --strict on the examples and on ten deliberate mistakes
	$(PYTEST) -n 0 -m "long or not long" tests/test_typing.py

docs: $(VENV)/.ready ## build the documentation site: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.ready ## speed as ratios within one run; AGAINST=DIR: relative to another checkout
ifdef AGAINST
	$(BIN)/python -m research.benchmarks.against $(AGAINST) --out bench-against.json
	$(BIN)/python -m research.benchmarks.first_result $(AGAINST) --out bench-first.json
else
	$(BIN)/python -m research.benchmarks.run --out bench.json
	$(BIN)/python -m research.benchmarks.lab --out bench-lab.json
	$(BIN)/python -m research.benchmarks.first_result --out bench-first.json
endif

bench-logs: $(VENV)/.ready ## speed of logs: counting relative to a plain group-by, fits of short and long logs
	$(BIN)/python -m research.benchmarks.logs_speed

bench-arena: $(VENV)/.ready ## speed of the arena log: group commit relative to single commits, none, and plain fsync
	$(BIN)/python -m research.benchmarks.arena_store --out bench-arena.json
	$(BIN)/python -m research.benchmarks.arena_server --out bench-arena-server.json

study-logs: $(VENV)/.ready ## coverage of the statements about logs, on hundreds of simulated logs; hours
	$(BIN)/python -m research.benchmarks.logs_study

house: $(VENV)/.ready ## imports between packages, duplicated lines, longest files; AGAINST=COMMIT: side by side
	$(BIN)/python -m research.benchmarks.house $(AGAINST) .

fuzz: $(VENV)/.ready ## thousands of invalid inputs (INPUTS, SEED; SURFACE=logs): one-line errors only
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED) $(if $(SURFACE),--surface "$(SURFACE)")

reproduce: $(VENV)/.ready ## published numbers and their reproduction; minutes
	$(BIN)/python -m research.benchmarks.reproduce

ablation: $(VENV)/.ready ## ablation of king; minutes
	$(BIN)/python -m research.benchmarks.ablation

hindsight: $(VENV)/.ready ## rivals of the suite tuned in hindsight; half an hour
	$(BIN)/python -m research.benchmarks.hindsight

dts-speed: $(VENV)/.ready ## speed of dts and rucb over worlds, for README.md
	$(BIN)/python -m research.benchmarks.dts_speed

demo-figure: $(VENV)/.ready ## figure of README.md, from a demo in a new folder
	rm -rf demo && $(BIN)/driftduel demo --out demo && cp demo/report/figures/regret.png docs/assets/demo.png

weak-spots: $(VENV)/.ready ## king in worlds in which its first version was weak; minutes
	$(BIN)/python -m research.benchmarks.weak_spots

match-cost: $(VENV)/.ready ## cost of a match of king, for all gaps: a table of its page
	$(BIN)/python -m research.benchmarks.match_cost

limit: $(VENV)/.ready ## regret of oracles without change times, and lower bounds
	$(BIN)/python -m research.benchmarks.limit

king0: $(VENV)/.ready ## regret of king-0 and its proven bound; minutes
	$(BIN)/python -m research.benchmarks.king0_bound

fleeting: $(VENV)/.ready ## regret in unlearnable worlds: a table of the page on theory
	$(BIN)/python -m research.benchmarks.fleeting

nowinner: $(VENV)/.ready ## exploitability without a Condorcet winner: a separate page
	$(BIN)/python -m research.benchmarks.nowinner $(if $(ONLY),--only $(ONLY))

champion: $(VENV)/.ready ## king on the test split of the suite: the table of its page; hours
	$(BIN)/python -m research.benchmarks.champion

which-policy: $(VENV)/.ready ## comparison for the page on choosing a policy; minutes
	$(BIN)/python -m research.benchmarks.which_policy

stale: $(VENV)/.ready ## list records of pages that were played with other code, with estimated durations
	@$(BIN)/python -m research.benchmarks.stale

panel: $(VENV)/.ready ## king and other policies in panels with many pending duels
	$(BIN)/python -m research.benchmarks.panel

requests: $(VENV)/.ready ## adaptive-logistic on 21 test worlds beside rivals in hindsight, false alarms; half an hour
	$(BIN)/python -m research.benchmarks.requests

few-votes: $(VENV)/.ready ## votes until the best of 4 and 10 options is identified, stationary panels; a minute
	$(BIN)/python -m research.benchmarks.few_votes

log-slates: $(VENV)/.ready ## statements of `log` about 100 simulated logs each of picks and rankings; minutes
	$(BIN)/python -m research.benchmarks.log_slates

log-features: $(VENV)/.ready ## false and true claims of `log features` in 200 simulated logs each; minutes
	$(BIN)/python -m research.benchmarks.log_features

slates: $(VENV)/.ready ## regret of slates of 4 and 8 options beside duels, picks and rankings; minutes
	$(BIN)/python -m research.benchmarks.slates

goals: $(VENV)/.ready ## error rates of active-ranking, knockout and certificates on 1,000 instances; minutes
	$(BIN)/python -m research.benchmarks.goals

lock: $(VENV)/.ready ## update the locked versions
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q pyproject.toml --extra all --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header --upgrade -o requirements/dev.lock
	$(BIN)/uv pip compile -q pyproject.toml --group test --group build --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -c requirements/dev.lock -o requirements/core.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra report --extra arena --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -c requirements/dev.lock -o requirements/demo.lock
	$(BIN)/uv pip compile -q --group types --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -o requirements/types.lock

clean: ## remove environments and generated files
	rm -rf $(VENV) $(CORE) $(DEMO) requirements/npm/node_modules demo dist site bench.json bench-lab.json bench-arena.json bench-arena-server.json bench-against.json bench-first.json .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last, so that an interrupted set-up is repeated.
$(VENV)/.ready: requirements/dev.lock pyproject.toml
	$(call install,$(VENV),requirements/dev.lock)
	$(call editable,$(VENV))
	@touch $@

$(CORE)/.ready: requirements/core.lock pyproject.toml
	$(call install,$(CORE),requirements/core.lock)
	$(call editable,$(CORE))
	@touch $@

$(TYPES)/.ready: requirements/types.lock
	$(call install,$(TYPES),requirements/types.lock)
	@touch $@

# A third of the packages, without build tools, for a short set-up. A path file and a script replace
# the editable installation.
$(DEMO)/.ready: requirements/demo.lock pyproject.toml
	$(call install,$(DEMO),requirements/demo.lock)
	@echo "$(CURDIR)/src" > "$$($(DEMO)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/driftduel.pth"
	@printf '#!/bin/sh\nexec "%s" -m driftduel "$$@"\n' "$(CURDIR)/$(DEMO)/bin/python" > $(DEMO)/bin/driftduel
	@chmod +x $(DEMO)/bin/driftduel
	@touch $@

define install
	@echo "Setting up $(1) (once; about a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "driftduel needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 ..."; exit 1; }
	@rm -rf $(1)
	@$(PYTHON) -m venv $(1) || { echo "python3 cannot make virtual environments here; on Debian, 'apt-get install python3-venv' adds that."; exit 1; }
	@$(1)/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $(2)
endef

define editable
	@$(1)/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
endef
