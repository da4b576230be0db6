"""Snakemake's dry runs, in copies of one process that has imported it.

What a dry run says depends on files, settings and options alone, and no process but Snakemake's own takes part.
How the commands start Snakemake is tested where they run something.
"""

import json
import subprocess
import sys

COPIES = """import json, os, sys
import pandas, snakemake.cli
import nlgjudge.repo.workflow
for line in sys.stdin:
    folder, environment, options, said = json.loads(line)
    copy = os.fork()
    if not copy:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        log = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["snakemake", *options]
        sys.exit(snakemake.cli.main(options))
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


class Plans:
    """The process, as a context manager; `environment` says which `nlgjudge` it imports."""

    def __init__(self, environment):
        self.environment = environment

    def __enter__(self):
        self._process = subprocess.Popen([sys.executable, "-c", COPIES], env=self.environment, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def said(self, folder, options, log, environment):
        """What a dry run says of the jobs that it would start in a folder; `log` is a file for its words."""
        request = [str(folder), {**environment}, [*options, "--dry-run"], str(log)]
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        status = self._process.stdout.readline().strip()
        words = log.read_text(encoding="utf-8")
        assert status == "0", words
        return words
