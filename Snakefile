# `make reproduce` runs every notebook with papermill and merges the ledger. `make sweep` runs one over a grid.
from pathlib import Path

import pandas as pd
import yaml
from snakemake.utils import Paramspace

from nlgjudge import workflow as plan

NAMES = plan.notebooks()
PAPERMILL = "papermill --no-progress-bar --no-request-save-on-cell-execute --autosave-cell-every 0 --cwd notebooks"

SHOW_FAILURE = "> {log:q} 2>&1 || {{ tail -n 25 {log:q} >&2; exit 1; }}"
SHOWN = "[{resources.number}/{resources.total}] {wildcards.name}"


rule all:
    input: "build/ledger.txt"


# A notebook runs again when its cells, its data, anything in src, the published tables, the registry or the pinned
# libraries change, and when the committed rows of its own tables do. New outputs in it are no reason, so that the
# file itself is ancient.
rule notebook:
    input:
        notebook=ancient("notebooks/{name}.ipynb"),
    output: "build/executed/{name}.ipynb"
    log: "build/log/{name}.txt"
    params:
        shared=plan.shared_digest(),
        cells=lambda wildcards: plan.source_digest(wildcards.name),
        refreshed=lambda wildcards: plan.refreshed_digest(wildcards.name),
        data=lambda wildcards: plan.data(wildcards.name),
    # As resources, since params decide what runs again.
    resources: number=lambda wildcards: NAMES.index(wildcards.name) + 1, total=len(NAMES)
    shell:
        f"""
        echo '{SHOWN}: started'
        NLGJUDGE_OUT=$PWD/build/results {PAPERMILL} {{input.notebook:q}} {{output:q}} {SHOW_FAILURE}
        echo '{SHOWN}: done in '$SECONDS' s'
        """


rule ledger:
    input: expand("build/executed/{name}.ipynb", name=NAMES)
    output: "build/ledger.txt"
    shell: "nlgjudge ledger > {output:q}"


if "grid" in config:
    BOOK = Path("notebooks", config["notebook"]).with_suffix(".ipynb")
    # A row of the CSV file is a cell of the grid; a value is YAML, such as 5, null or [coherence, fluency].
    GRID = Paramspace(pd.read_csv(config["grid"], dtype=str, keep_default_na=False))
    FOLDER = f"build/sweeps/{BOOK.stem}/"
    CELLS = {cell: row for cell, row in zip(GRID.instance_patterns, GRID.dataframe.to_dict("records"))}
    VALUES = {cell: {name: yaml.safe_load(text) for name, text in row.items()} for cell, row in CELLS.items()}
    for values in VALUES.values():
        plan.check_parameters(BOOK, values)

    rule sweep:
        input: expand(FOLDER + "{cell}/executed.ipynb", cell=CELLS)
        output: FOLDER + "results.csv"
        localrule: True
        run:
            found = [
                pd.read_csv(table).assign(**row)
                for cell, row in CELLS.items()
                for kind in ("ablation", "ledger")
                for table in sorted(Path(FOLDER, cell).rglob(f"{kind}/*.csv"))
            ]
            if not found:
                raise ValueError(f"{BOOK} wrote no ablation/*.csv or ledger/*.csv: there is nothing to join")
            pd.concat(found).to_csv(output[0], index=False)

    rule cell:
        input: ancient(str(BOOK))
        output: FOLDER + GRID.wildcard_pattern + "/executed.ipynb"
        log: FOLDER + GRID.wildcard_pattern + "/log.txt"
        params:
            shared=plan.shared_digest(),
            cells=plan.source_digest(BOOK.stem),
            given=lambda wildcards, output: yaml.dump(VALUES[Path(output[0]).parent.relative_to(FOLDER).as_posix()]),
        # To stdout, because papermill would fill in the braces of a value that is a dict in the name of a file.
        shell:
            f"""
            NLGJUDGE_OUT=$PWD/$(dirname {{output:q}}) {PAPERMILL} {{input[0]:q}} - -y {{params.given:q}} \
              > {{output:q}} 2> {{log:q}} || {{{{ tail -n 25 {{log:q}} >&2; exit 1; }}}}
            """
