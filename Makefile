# Two commands matter: `make reproduce` and `make test`. Each does its own set-up.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
# An active environment (venv or conda) that has the packages is used as it is. Elsewhere make builds .venv.
ACTIVE := $(or $(VIRTUAL_ENV),$(CONDA_PREFIX))
GOALS := $(filter-out help clean lock,$(MAKECMDGOALS))
EXTRAS := $(if $(filter test check lint,$(GOALS)),dev) $(if $(filter site,$(GOALS)),site) $(if $(filter crate,$(GOALS)),crate)
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
MIRROR := $(wildcard ../shared/data/github)
# An empty NLGJUDGE_MIRROR in the environment switches the mirror off.
export NLGJUDGE_MIRROR ?= $(abspath $(MIRROR))
# The same for WordNet, which METEOR reads; elsewhere it is fetched as a registered file.
export NLTK_DATA ?= $(abspath $(wildcard ../shared/data/nltk_data))
export PATH := $(BIN):$(PATH)
export PYDEVD_DISABLE_FILE_VALIDATION := 1
# Hundreds of processes import the same modules: compiled once, not by each of them.
export PYTHONDONTWRITEBYTECODE :=
# Whatever the locale: texts are UTF-8.
export PYTHONUTF8 := 1
# Tests and notebooks run side by side on all cores; threads within each would only wait for one another.
export OMP_NUM_THREADS ?= 1
# Freed memory is kept for the next array: glibc gives back what is on top, and to get it again can take three
# times as long as the sum that it is for.
export MALLOC_TRIM_THRESHOLD_ ?= 268435456
export MALLOC_MMAP_THRESHOLD_ ?= 268435456
SNAKEMAKE := snakemake --cores all --quiet --rerun-incomplete --rerun-triggers mtime params code

.DEFAULT_GOAL := help
.PHONY: help reproduce test check sweep refresh site crate bench lint lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# The lock names everything that is needed, so that pip has nothing to look for. What is never imported is never
# compiled, and the pip that comes with Python would take twice as long as today's.
.venv/stamp: pyproject.toml requirements.lock
	$(if $(FOUND),$(info $(NOT_USED)))
	python=$$(bash tests/interpreter.sh $(if $(PYTHON),"$(PYTHON)")) && "$$python" -m venv --clear .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --upgrade pip
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile -r requirements.lock
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

reproduce: $(READY) ## run every notebook; compare the ledger with the committed one; changes nothing that is committed
	@nlgjudge resolve
	@NLGJUDGE_OFFLINE=1 nlgjudge serve $(SNAKEMAKE) 2>&1 | tee build/snakemake.log | sed -un '/^ran /p' || \
	  { cat build/executed/*.failed.txt 2>/dev/null || cat build/snakemake.log; exit 1; } >&2
	@cat build/coverage.txt

test: $(READY) ## unit tests, doctests and validation of the notebooks
	@sh tests/run.sh

sweep: $(READY) ## a notebook over a grid of parameters: GRID=notebooks/ablation_samples.yaml; JOBS=4; PROFILE=profiles/slurm
	@$(if $(GRID),,echo "name a grid: make sweep GRID=notebooks/ablation_samples.yaml" >&2; exit 1;) mkdir -p build; \
	  nlgjudge serve snakemake --snakefile sweep.smk --config grid="$(GRID)" --keep-going \
	  --rerun-incomplete --rerun-triggers mtime params code \
	  $(if $(PROFILE),--profile "$(PROFILE)" $(JOBS:%=--jobs %),--cores $(or $(JOBS),all)) $(SWEEP_OPTIONS) 2>&1 | \
	  tee build/sweep.log | sed -unE '/^(sweep of|failed|Nothing) | steps \(/p' || \
	  { if grep -q '^failed ' build/sweep.log; then echo "how the jobs went: build/sweep.log"; \
	  else tail -n 30 build/sweep.log; fi; exit 1; } >&2

check: $(READY) ## within a minute: style, and the tests and notebooks that a change can touch
	@python tests/touched.py

# Some notebooks read the committed ledger: where it changed, they run again and are copied too.
refresh: reproduce ## copy outputs, figures and ledger of the run into the repository; say what changed
	@nlgjudge refresh
	@$(MAKE) --no-print-directory reproduce > /dev/null
	@nlgjudge refresh

site: $(READY) ## build the site from the notebooks as committed: build/site/html/index.html
	@python site/build.py build/site/source
	@sphinx-build -q -W --keep-going -d build/site/doctrees build/site/source build/site/html
	@echo "open build/site/html/index.html"

crate: $(READY) ## ledger, reruns, notebooks and signatures as an RO-Crate that names upstream's files: build/crate/
	@nlgjudge crate

bench: $(READY) ## run the benchmarks: build/bench.md, build/bench.csv; their history: benchmarks/history.csv
	@python benchmarks/run.py

lint: $(READY) ## style of the code and of the notebooks
	ruff format --check src tests site
	ruff check src tests notebooks site benchmarks

lock: ## pin the default set and the development tools again
	uv pip compile --quiet --no-annotate --no-header --universal --python-version 3.11 --upgrade \
	  --extra crate --extra dev --extra site pyproject.toml -o requirements.lock

clean: ## remove what a run made; downloads in data/cache stay
	rm -rf build .snakemake
