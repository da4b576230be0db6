"""The command line: data, prompts, replies, rerun, ledger. Notebooks are run with papermill."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module

import click

from nlgjudge.data.checks import LEFT, unknown
from nlgjudge.data.markup import shown

FAILED = 1  # wholly or in part; the message says why
UNFINISHED = 3  # stopped at a limit: the same command goes on
INTERRUPTED = 130  # 128 and SIGINT, as shells have it
STATUS = (
    "Exit status: 0 all well, 1 failed wholly or in part, 2 wrong command line, 3 stopped at a limit "
    "(the same command goes on), 130 interrupted (what is stored stays)."
)


# Each command's module, imported when the command is used, and its line in the help.
COMMANDS = {
    "data": ("files", "Upstream files: list, fetch, verify."),
    "ledger": ("files", "Merge the last run's results, and report what differs."),
    "prompts": ("files", "Prompts: list them, or show one."),
    "replies": ("files", "The store of replies: export, import."),
    "rerun": ("rerun", "Ask a judge of yours for the papers' rows."),
}


class Group(click.Group):
    """A group that says what replaces a command that left."""

    def resolve_command(self, context, arguments):
        if ("command", arguments[0]) in LEFT and arguments[0] not in self.list_commands(context):
            context.fail(unknown("command", arguments[0], []))
        return super().resolve_command(context, arguments)


class OnUse(Group):
    """A group whose commands are imported when they are used."""

    group_class = Group

    def list_commands(self, context):
        return [*COMMANDS]

    def get_command(self, context, name):
        if name in COMMANDS:
            import_module(f"nlgjudge.cli.{COMMANDS[name][0]}")
        return super().get_command(context, name)

    def format_commands(self, context, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=OnUse, epilog="`nlgjudge COMMAND --help` has an example of each command.")
@click.version_option(package_name="nlgjudge")
@click.option("--traceback", is_flag=True, help="Show where an error arose.")
def cli(traceback):
    """Check, cell by cell, what papers published about language models as judges."""


def echo(text: object, err: bool = False) -> None:
    """Print a text without what a terminal would take for a command."""
    click.echo(shown(text), err=err)


def command(group: click.Group, name: str, example: str) -> Callable:
    """Add a command whose help ends with an example; several lines are shown as they are."""
    lines = "\n".join(f"  {line}" for line in example.splitlines())
    return group.command(name, epilog=f"\b\nExample:\n{lines}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, with the process's arguments by default; return the exit status (`STATUS`)."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = lambda message, *_: echo(f"note: {message}", err=True)
            return cli.main(arguments, prog_name="nlgjudge", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # click's for Ctrl-C
        message = "what was finished or stored stays; the same command goes on from there"
        echo(f"nlgjudge: interrupted: {message}", err=True)
        return INTERRUPTED
    except Exception as error:
        if "--traceback" in arguments:
            raise
        echo(f"nlgjudge: {error.args[0] if isinstance(error, KeyError) else error}", err=True)
        return getattr(error, "status", FAILED)
