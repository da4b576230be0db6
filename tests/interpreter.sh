#!/usr/bin/env bash
# Prints the Python that .venv is made of: the one that is named, or else the first on the path that can make it. One
# that was compiled without optimisations, as pyenv does by default, needs about a tenth more of the processor for the
# same work: it is taken only where there is no other. Debian optimises its Python but does not record that it did.
[ $# -gt 0 ] || set -- python3 python3.13 python3.12 python3.11
probe='import ensurepip, sys, sysconfig, venv
assert (3, 11) <= sys.version_info[:2] <= (3, 13)
optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
print("fast" if optimised or "deb_system" in sysconfig.get_scheme_names() else "slow")'
while read -r python; do
  case $("$python" -c "$probe" 2>/dev/null) in
    fast)
      [ -z "${slow:-}" ] || echo ".venv is made of $python, since $slow was compiled without optimisations;" \
        "to have that one all the same: make PYTHON='$slow'" >&2
      found=$python
      break
      ;;
    slow)
      slow=${slow:-$python}
      ;;
  esac
done < <(type -aP "$@")
found=${found:-${slow:-}}
if [ -z "$found" ]; then
  echo "Python 3.11 to 3.13 with venv is needed (Debian: apt install python3-venv), and $* is not one;" \
    "name another: make PYTHON=/a/folder/bin/python3.12" >&2
  exit 1
fi
echo "$found"
