# Runs every notebook that changed, or whose data, modules or printed tables changed, then
# merges the ledger. Start it with `make reproduce`, which finds the data first.
import shlex

from nlgjudge.data.paths import results
from nlgjudge.repo import workflow as plan

# What the notebooks make goes there, and from there into the repository by `make refresh` alone.
shell.prefix(f"export NLGJUDGE_OUT={shlex.quote(str(results()))}; ")
NAMES = plan.notebooks()
EXECUTED = expand("build/executed/{name}.ipynb", name=NAMES)


rule all:
    # The executed copies too: one that was deleted is made again.
    input: EXECUTED, "build/coverage.txt"


rule notebook:
    # The notebook is ancient: writing outputs back into it must not run it again. A change
    # of its cells does, through the digest. Of the files that it used, the newest decides.
    input:
        notebook=ancient("notebooks/{name}.ipynb"),
        used=lambda wildcards: plan.last_changed(wildcards.name),
    output: "build/executed/{name}.ipynb"
    params:
        cells=lambda wildcards: plan.source_digest(wildcards.name),
        data=lambda wildcards: plan.data(wildcards.name),
    shell: "nlgjudge run {input.notebook:q} --output {output:q}"


rule ledger:
    input:
        EXECUTED,
        "paper_tables/needs.csv",
    output: "build/coverage.txt"
    params: names=NAMES
    shell: "nlgjudge finish > {output:q}"
