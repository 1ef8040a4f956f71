# Targets only name things; what they do stands in pyproject.toml and tools/.
# Every target sets the environment up first, so that each works on a fresh clone.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Any Python will do here: tools/environment.py looks for the one that the project runs on.
STARTER := $(firstword $(foreach name,$(PYTHON) python3 python3.11 python3.12 python3.13 python,$(shell command -v $(name) 2>/dev/null)))
BIN := .venv/bin
RUN := $(BIN)/python -m
READY := .venv/complete

export PYTHON
# The tests start a hundred processes, and none of them should compile all that it imports again.
export PYTHONDONTWRITEBYTECODE :=

# Who is done takes from who is not.
SPREAD := -n 4 --dist worksteal

$(READY): requirements/build.lock requirements/dev.lock requirements/java.lock pyproject.toml tools/environment.py
	@[ -n "$(STARTER)" ] || { echo "setup: there is no python3 on PATH; install Python 3.11 or newer"; exit 1; }
	@"$(STARTER)" tools/environment.py

##@ For a newcomer

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: $(READY) ## explain a recorded night: prints the headline and where the report is
	@$(BIN)/trimtab explain recordings/threshold -o build/demo

.PHONY: test
test: $(READY) ## every test that needs no Pulsar
	@$(RUN) pytest -m "not pulsar" $(SPREAD)

.PHONY: setup
setup: $(READY) ## make .venv from the lock files (PYTHON=... chooses the interpreter)

##@ While working

# By whole files: what a file's tests share is made once, and collecting for four would take longer.
.PHONY: quick
quick: $(READY) ## the tests that need neither a JVM nor a browser, in two minutes
	@$(RUN) pytest -q -m "not spark and not browser and not pulsar and not slow" \
	  --hypothesis-profile quick -n 3 --dist loadfile

.PHONY: near
near: $(READY) ## the tests that FILE=src/trimtab/... can break, as the imports have it
	@$(RUN) tools.near $(FILE)

.PHONY: fix
fix: $(READY) ## format, and mend what the linter can mend
	@$(RUN) ruff check --fix-only --quiet .
	@$(RUN) ruff format .

.PHONY: regen
regen: $(READY) ## rewrite the expected output of the tests; read the diff
	@$(RUN) pytest -q -m "not browser and not pulsar" --regen-all
	@git status --short tests docs/agreement.md

.PHONY: docs
docs: $(READY) ## rewrite what docs/ and ARCHITECTURE.md have from the code
	@$(RUN) tools.pages

.PHONY: screens
screens: $(READY) ## photograph the first screens of twenty nights with a planted cause
	@$(RUN) tools.screens $(SEED)

.PHONY: pictures
pictures: $(READY) ## explain the real recordings and photograph their pages into docs/images
	@$(RUN) tools.pictures

.PHONY: notebook
notebook: $(READY) ## run docs/tables.ipynb again, and write what comes out into it
	@$(RUN) tools.notebook

##@ What CI checks

.PHONY: ci
ci: $(READY) ## all of the following, the tests, oracle-check and pulsar-test, with the time of each
	@$(RUN) tools.stages lint types layers docs-check site test oracle-check pulsar-test

.PHONY: site
site: $(READY) ## build/site: docs/ with search and three sample reports; every link and anchor must lead somewhere
	@$(RUN) tools.site

.PHONY: fidelity
fidelity: $(READY) ## rewrite docs/fidelity.md with what `trimtab rerun` says now
	@$(RUN) tools.fidelity

.PHONY: predictions
predictions: $(READY) ## rewrite docs/predictions.md: what moves were predicted to do, and did
	@$(RUN) tools.predictions $(or $(COMMIT),$(shell git rev-parse --short=12 HEAD))

.PHONY: precision
precision: $(READY) ## rewrite docs/precision.md: every cause planted, and how often it is found (ten minutes)
	@$(RUN) tools.precision

.PHONY: threads
threads: $(READY) ## rewrite docs/threads.md: what is provable in users' threads, beside what trimtab says
	@$(RUN) tools.threads

.PHONY: nights
nights: $(READY) ## explain nights of the second generator: SEEDS=1-3 by default, a line and a table (ten minutes)
	@$(RUN) tools.nights --seeds $(or $(SEEDS),1-3)

.PHONY: rehearsals
rehearsals: $(READY) ## rewrite docs/rehearse.md: what rehearsals of the recordings print
	@$(RUN) tools.rehearsals

.PHONY: fleet
fleet: $(READY) ## make a fleet with planted changes, and rewrite docs/trends.md: what is told of them
	@$(RUN) tools.fleet

.PHONY: month
month: $(READY) ## make a month of fifty clusters, going on where it broke off, and write docs/trends.md: what is told of it
	@$(RUN) tools.fleet --clusters 50 --keep

.PHONY: foretold
foretold: $(READY) ## rewrite docs/foretold.md: rehearsals of recorded events beside what came
	@$(RUN) tools.foretold

.PHONY: sizes
sizes: $(READY) ## rewrite docs/size.md: what size prints, and 200 clusters whose need is known
	@$(RUN) tools.rehearsals
	@$(RUN) tools.sizes

.PHONY: what-if
what-if: $(READY) ## rewrite docs/what-if.md: recordings and known nights replayed under every strategy
	@$(RUN) tools.what_if

.PHONY: lint
lint: $(READY) ## style, format and spelling
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(BIN)/codespell

.PHONY: types
types: $(READY) ## mypy --strict
	@$(RUN) mypy

.PHONY: layers
layers: $(READY) ## who may import whom
	@$(BIN)/lint-imports

.PHONY: docs-check
docs-check: $(READY) ## the generated docs are what the code says now
	@$(RUN) tools.pages --check

##@ With Pulsar's own classes (Maven and a JDK of 17 or newer)

RELEASE ?= 4.0.8
SEQUENCES ?= 2000
# On a desk new ones each time, where a difference is a find; in CI it must be the change's fault.
SEED ?= $(if $(CI),ci)

.PHONY: oracle
oracle: $(READY) ## record what the strategies of RELEASE=4.0.8 decide, into build/oracle/vectors
	@PYTHONPATH=testbed $(RUN) oracle.record --release $(RELEASE)

.PHONY: oracle-check
oracle-check: $(READY) ## compare with them on SEQUENCES=2000 fresh states a class (SEED=... repeats)
	@PYTHONPATH=testbed $(RUN) oracle.check --release $(RELEASE) --sequences $(SEQUENCES) $(if $(SEED),--seed $(SEED))

.PHONY: oracle-simulated
oracle-simulated: $(READY) ## hold simulated rounds of TransferShedder, and the bundles that brokers publish, against RELEASE
	@PYTHONPATH=testbed $(RUN) oracle.simulated --release $(RELEASE)
	@PYTHONPATH=testbed $(RUN) oracle.top_bundles --release $(RELEASE)

.PHONY: vectors
vectors: $(READY) ## ask every vector of tests/golden of its release again, and write it there
	@PYTHONPATH=testbed $(RUN) oracle.golden

.PHONY: yarn-check
yarn-check: $(READY) ## the same bytes on Hadoop's small YARN cluster as on this machine
	@PYTHONPATH=testbed $(RUN) yarn.check

.PHONY: bench
bench: $(READY) ## measure beside Pulsar's own classes, and rewrite docs/performance.md (ONLY=... a part; BROKERS=..., HOURS=... of a night)
	@PYTHONPATH=testbed $(RUN) bench $(if $(ONLY),--only $(ONLY)) $(if $(BROKERS),--brokers $(BROKERS)) $(if $(HOURS),--hours $(HOURS))

##@ With a real cluster on the loopback interface (Maven, Java 17 or newer, Linux)

BROKERS ?= 3
MODE ?= plain

.PHONY: pulsar-up
pulsar-up: $(READY) ## start BROKERS=3 brokers of RELEASE=4.0.8, with ZooKeeper and a bookie (MODE=namespaces: root)
	@PYTHONPATH=testbed $(RUN) cluster.up --brokers $(BROKERS) --release $(RELEASE) --mode $(MODE)

.PHONY: pulsar-down
pulsar-down: $(READY) ## stop them
	@PYTHONPATH=testbed $(RUN) cluster.down

.PHONY: pulsar-moves
pulsar-moves: $(READY) ## record 72 moves of known bundles into OUT= (root; 70 minutes of processor 0)
	@PYTHONPATH=testbed:src $(RUN) cluster.moves $(or $(OUT),build/moves) --processor 0

.PHONY: pulsar-faults
pulsar-faults: $(READY) ## hurt a cluster of RELEASE=4.0.8 while bundles are moved, and write docs/faults.md (ten minutes)
	@$(RUN) tools.fault_table $(RELEASE)

# Mostly waiting: three clusters side by side, each with the files that need one like it.
# As many clusters side by side; in CI two, which leave its two cores time to answer soon.
CLUSTERS ?= $(if $(CI),2,3)

.PHONY: pulsar-test
pulsar-test: $(READY) ## start clusters, load them, hurt them, gather, explain, move bundles, stop them (EXHAUSTIVE=1: every fault, rehearsals and rollouts, too)
	@$(RUN) pytest -m pulsar $(if $(EXHAUSTIVE),--exhaustive) -n $(CLUSTERS) --dist loadscope tests/test_pulsar_*.py

##@ Seldom

.PHONY: lock
lock: $(READY) ## renew requirements/*.lock from pyproject.toml
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(RUN) tools.lock

.PHONY: exhaustive
exhaustive: $(READY) ## every test that has a long form, in it: kills, damages, faults (half an hour)
	@$(RUN) pytest -m "exhaustive and not pulsar" --exhaustive --durations 5

.PHONY: mutants
mutants: $(READY) ## change strategies, leader, guards and findings at their boundaries, and count what the tests let through (an hour)
	@$(RUN) tools.mutants

.PHONY: release
release: $(READY) ## dist/: wheel and sdist, built twice and tried from another folder, and a list of libraries
	@$(RUN) tools.release

.PHONY: clean
clean: ## remove everything that a command made, .venv included
	@rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache \
	  tests/testdata/generated
	@find src tools tests testbed bench -name __pycache__ -type d -prune -exec rm -rf {} +
