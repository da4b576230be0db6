#!/bin/sh
# `make test`: unit tests with doctests, and the committed notebooks under nbval, whose results give the ledger.
# Outputs are compared where the notebook's data are those of its committed outputs; elsewhere it has to run.
# `make units`: without the notebooks.
set -e
mkdir -p build
# First, so that the unit tests have the real data too.
[ "$1" = units ] || nlgjudge data fetch --declared > build/declared.txt
pytest="python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder"
# The longest files first.
$pytest -p no:nbval --doctest-modules tests/test_workflow.py tests/test_cli_rerun.py tests/test_site.py tests src/nlgjudge
[ "$1" != units ] || exit 0
export NLGJUDGE_OFFLINE=1 NLGJUDGE_OUT="$PWD/build/results"
comparable=$(python -m nlgjudge.workflow comparable)
other=$(python -m nlgjudge.workflow other)
# The longest notebooks first; xdist would start with those of most cells.
longest='judges_by_paper|geval_table1_summeval|chatgpt_table1_table4_summeval'
sorted() { echo "$1" | awk "{ print (/$longest/ ? 0 : 1), \$0 }" | sort -s -k1,1 | cut -d' ' -f2; }
[ -z "$comparable" ] || $pytest --nbval --nbval-cell-timeout=600 $(sorted "$comparable")
[ -z "$other" ] || $pytest --nbval-lax --nbval-cell-timeout=600 $(sorted "$other")
nlgjudge ledger > build/ledger.txt
tail -n 1 build/ledger.txt
