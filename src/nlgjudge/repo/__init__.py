"""The command line, the notebook runner, the workflow, coverage, the site. Nothing imports this room."""

import sys

# One second less at the start of every process that reads a notebook. `jsonschema`, which `nbformat` imports, builds
# a grammar of international addresses from this package where it is installed, as it is with JupyterLab. The schema
# of notebooks asks for no such address, and `jsonschema` goes on where the package is missing.
sys.modules.setdefault("rfc3987_syntax", None)
