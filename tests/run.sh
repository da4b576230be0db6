#!/bin/sh
# All that `make test` does: style, unit tests with doctests, and the notebooks. Where TESTS names some
# tests, only those, and only the notebooks that declare data. Where SERVED names a mirror, the notebooks
# get their data from it over HTTP, as on a machine with a network and nothing else (tests/upstream.py).
set -e
ruff format --check src tests site
ruff check src tests notebooks site benchmarks
# In the order of the files: by default the few long tests come last, on one worker. The plugin that compares
# notebooks is for `nlgjudge validate`: each worker would import it before anything else, for nothing.
python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -p no:nbval --doctest-modules \
  ${TESTS:-src/nlgjudge tests}
set -- nlgjudge validate ${TESTS:+--with-data}
if [ -n "$SERVED" ]; then
  set -- python tests/upstream.py "$SERVED" -- "$@"
fi
"$@"
