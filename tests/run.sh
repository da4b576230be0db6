#!/bin/sh
# All that `make test` does: style, unit tests with doctests, and the notebooks. TESTS names some
# of the tests instead of all.
set -e
ruff check src tests notebooks site benchmarks
python -m pytest -q -n auto --dist loadfile --doctest-modules ${TESTS:-src/nlgjudge tests}
nlgjudge validate
