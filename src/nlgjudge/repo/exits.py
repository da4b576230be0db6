"""What the console script's exit status says."""

DONE = 0
FAILED = 1
USAGE = 2  # argparse's own
UNFINISHED = 3
INTERRUPTED = 130  # 128 and SIGINT, as shells have it

MEANINGS = {
    DONE: "all well",
    FAILED: "it failed, wholly or in part; the message says why",
    USAGE: "the command line is wrong",
    UNFINISHED: "stopped at a limit, or waiting for a batch: the same command goes on",
    INTERRUPTED: "interrupted; what is stored stays",
}
HELP = "exit status:\n" + "\n".join(
    f"  {status:<4} {meaning}" for status, meaning in MEANINGS.items()
)
