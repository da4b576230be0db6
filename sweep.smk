# A notebook over a grid of its parameters: a job for each cell of the grid, then the table of all and
# its picture. Start it with `make sweep GRID=FILE`; what is complete and up to date does not run again.
from nlgjudge.repo import sweep, workflow as plan

GRID = sweep.read(config["grid"])
if workflow.is_main_process:  # a job reads the grid again
    GRID.check()
# A column of names: the values themselves may be lists, mappings, or texts with slashes.
CELLS = dict(zip(GRID.names, GRID.cells))


localrules: results


rule results:
    input: [str(GRID.executed(name)) for name in CELLS]
    output: multiext(f"{GRID.folder}/results", ".csv", ".svg", ".png")
    params:
        grid=[GRID.names, GRID.figure],
        file=config["grid"],
    shell: "nlgjudge draw {params.file:q}"


rule cell:
    # The notebook is ancient: new outputs in it are no reason to run. Its cells are, through the digest.
    input:
        notebook=ancient(GRID.notebook),
        used=lambda wildcards: sweep.used(GRID.executed(wildcards.cell)),
    output: f"{GRID.folder}/cell/{{cell}}/executed.ipynb"
    log: f"{GRID.folder}/log/{{cell}}.txt"
    params:
        cells=plan.source_digest(str(GRID.notebook.with_suffix(""))),
        given=lambda wildcards: sweep.command_line(CELLS[wildcards.cell]),
    # By exec no shell stands between Snakemake and the run: who kills the one has killed the other.
    shell:
        """
        folder=$(dirname {output:q})
        rm -rf "$folder"
        exec env NLGJUDGE_OUT="$folder" nlgjudge run {input.notebook:q} -o {output:q} {params.given} > {log:q} 2>&1
        """


onsuccess: print(f"sweep of {len(CELLS)} cells: {GRID.folder}/results.csv and .svg; what each said is in {GRID.folder}/log")
onerror: print(sweep.finish_without(GRID))
