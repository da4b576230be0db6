#!/usr/bin/env bash
# Prints the Python that .venv is made of: the one that is named, or else the first on the path that can make it.
[ $# -gt 0 ] || set -- python3 python3.13 python3.12 python3.11
while read -r python; do
  if "$python" -c 'import ensurepip, sys, venv; assert (3, 11) <= sys.version_info[:2] <= (3, 13)' 2>/dev/null; then
    echo "$python"
    exit
  fi
done < <(type -aP "$@")
echo "Python 3.11 to 3.13 with venv is needed (Debian: apt install python3-venv), and $* is not one;" \
  "name another: make PYTHON=/a/folder/bin/python3.12" >&2
exit 1
