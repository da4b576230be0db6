"""Namespaces whose names are imported on first use, and packages that only some metrics need."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def attach(package, file):
    """Return `__getattr__`, `__dir__` and `__all__` for the names that a package's `__init__.pyi` imports (PEP 562)."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}

    def __getattr__(name):
        if name not in homes:
            from nlgjudge.data.checks import unknown  # a namespace is attached before it

            raise AttributeError(f"{package}: {unknown('name', name, homes)}")
        home = homes[name]
        value = import_module(f"{package}.{home or name}")
        if home:
            value = getattr(value, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: sorted(homes), sorted(homes)


def optional(module: str, extra: str) -> ModuleType:
    """Import a module that the core does not depend on; the ImportError says which extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module.partition(".")[0], extra) from error


def missing(package: str, extra: str) -> ImportError:
    """Return the error that says how to install a package of an optional set."""
    return ImportError(
        f"{package} is not installed; it belongs to the extra {extra}: "
        f"pip install --editable '.[{extra}]' in a checkout, "
        f"pip install 'nlgjudge-VERSION-py3-none-any.whl[{extra}]' for a wheel"
    )
