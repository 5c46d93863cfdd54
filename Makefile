# Every target does its own set-up: python3 (>= 3.11), make and the package registry are enough.
PYTHON ?= python3
VENV := .venv
CORE := .venv-core
DEMO := .venv-demo
BIN := $(VENV)/bin
# Two test workers, which is what CI has. Each gets a half of the tests as they stand, and takes over
# from the other at the end: what neighbours share is compiled and set up once, not by both.
WORKERS := -q -n 2 --dist worksteal
PYTEST := $(BIN)/python -m pytest $(WORKERS)

# Python may keep its bytecode, whatever the environment says: without it every process compiles this
# house anew, and pytest rewrites all tests in each worker of each run.
unexport PYTHONDONTWRITEBYTECODE

# `make test` answers soon; `make test-long` runs what is thorough, and all kernels without compiler.
PART := not long
# Tests that touch no extra, and so would say the same twice.
SAME_WITHOUT_EXTRAS := $(addprefix --ignore=tests/test_, reproduce.py site.py compile.py) $(addprefix --ignore=tests/policies/test_, \
	conformance.py rmed_and_copeland.py elimination_and_sparring.py adversarial.py king_panel.py)

# What `make arena-kills` does on each store, in blocks of 50 with their own voters.
KILLS ?= 500
# What `make fuzz` tries; the same two numbers always give the same inputs.
INPUTS ?= 100000
SEED ?= 0

.DEFAULT_GOAL := help
.PHONY: help demo arena arena-kills arena-outages arena-honest arena-fuzz test test-long test-core test-nojit test-slow test-times test-states test-wheel release-check lint docs bench bench-logs bench-arena study-logs house fuzz reproduce ablation hindsight dts-speed demo-figure weak-spots panel few-votes goals match-cost limit king0 fleeting nowinner champion which-policy stale lock clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

demo: $(DEMO)/.ready ## eight policies in a changing world: a table with intervals, a page
	@$(DEMO)/bin/driftduel demo --out demo

arena: $(DEMO)/.ready ## people vote, tastes change, a board says who leads: opens two pages; Ctrl-C ends it
	@$(DEMO)/bin/driftduel arena demo

test: $(VENV)/.ready $(CORE)/.ready ## the tests: with all extras, and without any
	$(PYTEST) -m "$(PART) and not slow"
	$(MAKE) --no-print-directory test-core PART="$(PART)"

test-long: ## the long tests: every policy and composition, the study, the site, no compiler
	$(MAKE) --no-print-directory test PART=long
	$(MAKE) --no-print-directory test-nojit

test-core: $(CORE)/.ready ## the tests in an environment without the optional extras
	$(CORE)/bin/python -m pytest $(WORKERS) -m "$(PART) and not slow and not kernels" $(SAME_WITHOUT_EXTRAS)

test-nojit: $(VENV)/.ready ## the kernels' tests as plain Python, compiler off
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "kernels and not slow"

test-slow: $(VENV)/.ready ## what takes longer than CI allows
	$(PYTEST) -m slow

test-times: $(VENV)/.ready ## the tests, and what each file of them costs (PART=long: the long ones)
	$(PYTEST) -p tests.costs -m "$(PART) and not slow"

test-states: $(VENV)/.ready ## 20,000 damaged saved states of all policies: no crash, no hang
	$(PYTEST) -m "slow or not slow" tests/policies/test_damaged_states.py

arena-kills: $(VENV)/.ready ## kill the arena's server KILLS times (500) under load, on each store: nothing is lost
	for seed in $$(seq 1 $$((($(KILLS) + 49) / 50))); do \
	  KILLS=50 SEED=$$seed $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_kills.py || exit 1; done

arena-outages: $(VENV)/.ready ## restart the database and cut the link to it 20 times under load; 200 losses of power; rolling restart
	OUTAGES=20 $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_outages.py tests/arena/test_durability.py tests/arena/test_servers.py

arena-honest: $(VENV)/.ready ## simulate 1,000 arenas per statement of the board: how many are false?
	ARENAS=1000 $(BIN)/python -m pytest -q -s -m "long or not long" tests/arena/test_honest.py

arena-fuzz: $(VENV)/.ready ## 100,000 requests to the arena's server, sound and broken; and Schemathesis at length
	$(BIN)/python -m tests.fuzz --surface arena --inputs 33500 --seed $(SEED)
	DRIFTDUEL_EXAMPLES=200 $(BIN)/python -m pytest -q -m "long or not long" tests/arena/test_schemathesis.py

test-wheel: $(VENV)/.ready ## install the wheel with pip into empty projects, on Python 3.11 to 3.13
	$(PYTEST) -m "slow or not slow" tests/test_wheel.py

release-check: $(VENV)/.ready ## before a release: version, changelog and tag agree; wheel and sdist install and run (TAG=v0.3.0)
	DRIFTDUEL_TAG=$(TAG) $(PYTEST) -m "slow or not slow" tests/test_release.py tests/test_wheel.py
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

lint: $(VENV)/.ready ## ruff, strict types, import contract, prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/prose_check.py

docs: $(VENV)/.ready ## the documentation site: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.ready ## speed as ratios within one run; AGAINST=DIR: to that of another checkout
ifdef AGAINST
	$(BIN)/python benchmarks/against.py $(AGAINST) --out bench-against.json
else
	$(BIN)/python benchmarks/run.py --out bench.json
	$(BIN)/python benchmarks/lab.py --out bench-lab.json
endif

bench-logs: $(VENV)/.ready ## logs: counting against a bare group-by, fits of short and long ones
	$(BIN)/python benchmarks/logs_speed.py

bench-arena: $(VENV)/.ready ## the arena's log: group commit against a commit each, none, and a bare fsync
	$(BIN)/python benchmarks/arena_store.py --out bench-arena.json
	$(BIN)/python benchmarks/arena_server.py --out bench-arena-server.json

study-logs: $(VENV)/.ready ## is what is said about logs true? Simulated ones, by the hundred; hours
	$(BIN)/python benchmarks/logs_study.py

house: $(VENV)/.ready ## crossings between rooms, repeated lines, longest files; AGAINST=DIR: and there
	$(BIN)/python benchmarks/house.py $(AGAINST) .

fuzz: $(VENV)/.ready ## broken inputs by the thousand (INPUTS, SEED; SURFACE=logs): a sentence each
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED) $(if $(SURFACE),--surface "$(SURFACE)")

reproduce: $(VENV)/.ready ## published numbers beside ours; takes some minutes
	$(BIN)/python benchmarks/reproduce.py

ablation: $(VENV)/.ready ## king without each of its ingredients; some minutes
	$(BIN)/python benchmarks/ablation.py

hindsight: $(VENV)/.ready ## the suite's rivals at their best setting in hindsight; half an hour
	$(BIN)/python benchmarks/hindsight.py

dts-speed: $(VENV)/.ready ## the speed of dts and rucb over worlds, as README.md has it
	$(BIN)/python benchmarks/dts_speed.py

demo-figure: $(VENV)/.ready ## the figure of README.md, from a demo in a new folder
	rm -rf demo && $(BIN)/driftduel demo --out demo && cp demo/report/figures/regret.png docs/assets/demo.png

weak-spots: $(VENV)/.ready ## king where its first edition was weak, beside that; some minutes
	$(BIN)/python benchmarks/weak_spots.py

match-cost: $(VENV)/.ready ## what a match costs king, whatever the gaps do; a table of its page
	$(BIN)/python benchmarks/match_cost.py

limit: $(VENV)/.ready ## what those reach who are told all but the times, and what nobody can beat
	$(BIN)/python benchmarks/limit.py

king0: $(VENV)/.ready ## the regret of king-0 beside the bound that is proved for it; some minutes
	$(BIN)/python benchmarks/king0_bound.py

fleeting: $(VENV)/.ready ## what nobody can learn costs: a table of the page on theory
	$(BIN)/python benchmarks/fleeting.py

nowinner: $(VENV)/.ready ## who can be exploited where nobody beats everybody; a page of its own
	$(BIN)/python benchmarks/nowinner.py $(if $(ONLY),--only $(ONLY))

champion: $(VENV)/.ready ## king on the test split of the suite: the table of its page; hours
	$(BIN)/python benchmarks/champion.py

which-policy: $(VENV)/.ready ## the comparison behind the page on choosing a policy; some minutes
	$(BIN)/python benchmarks/which_policy.py

stale: $(VENV)/.ready ## records behind the pages that other code has played: what to replay, and how long
	@$(BIN)/python benchmarks/stale.py

panel: $(VENV)/.ready ## king and others where two arms are always shown, many duels out at once
	$(BIN)/python benchmarks/panel.py

few-votes: $(VENV)/.ready ## votes until the best of 4 and 10 options is named, stationary panels; a minute
	$(BIN)/python benchmarks/few_votes.py

goals: $(VENV)/.ready ## error rates of active-ranking, knockout and certificates on 1,000 instances; some minutes
	$(BIN)/python benchmarks/goals.py

lock: $(VENV)/.ready ## resolve the locked versions anew
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q pyproject.toml --extra all --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header --upgrade -o requirements/dev.lock
	$(BIN)/uv pip compile -q pyproject.toml --group test --group build --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -c requirements/dev.lock -o requirements/core.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra report --extra arena --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header -c requirements/dev.lock -o requirements/demo.lock

clean: ## remove the environments and everything generated
	rm -rf $(VENV) $(CORE) $(DEMO) demo dist site bench.json bench-lab.json bench-arena.json bench-arena-server.json bench-against.json .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last, so a set-up that was interrupted is done again.
$(VENV)/.ready: requirements/dev.lock pyproject.toml
	$(call install,$(VENV),requirements/dev.lock)
	$(call editable,$(VENV))
	@touch $@

$(CORE)/.ready: requirements/core.lock pyproject.toml
	$(call install,$(CORE),requirements/core.lock)
	$(call editable,$(CORE))
	@touch $@

# For newcomers: a third of the packages, and no build tools. A path file and a script stand in for
# an editable installation.
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
