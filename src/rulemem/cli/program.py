"""How every command behaves: options that may stand anywhere, and errors turned into exit codes.

Knows the names of the program's options, and after which commands work can be left over. What a
command does, it does not know.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from rulemem.cli.screen import Screen
from rulemem.cli.session import Session
from rulemem.errors import RuleMemError

_WITH_VALUE = ("--db", "--scope", "--llm")
_FLAGS = ("--json", "--quiet")
_BENCH = "bench"
_CONTINUE = {  # after Ctrl-C; what is not named here leaves nothing to go on with
    "add": "resume",
    "resume": "resume",
    "retry": "resume",
    "learn": "learn",
    "models": "models fetch",
    "reembed": "reembed",
}


class Program(TyperGroup):
    """All commands together."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the program, wherever they stand."""
        return super().parse_args(ctx, move_to_front(args))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error of ours, or Ctrl-C, becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except RuleMemError as error:
            _screen(ctx).complain(error)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as interrupt:
            _screen(ctx).warn(_farewell(ctx))
            raise typer.Exit(130) from interrupt

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the commands; `bench` where it is installed."""
        names: list[str] = super().list_commands(ctx)
        return [*names, _BENCH] if _has_bench() else names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; `bench` is imported only when it is called for."""
        if cmd_name == _BENCH and _has_bench():
            bench = importlib.import_module("rulemem.bench.cli")
            return typer.main.get_command(bench.app)
        return super().get_command(ctx, cmd_name)


class Command(TyperCommand):
    """One command, which shows and knows the options of the program beside its own.

    They were moved before the command when it is read; here they serve `--help`, and the
    suggestion of the nearest name.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments of the command, and the options of the program."""
        shared = []
        for param in ctx.find_root().command.params:
            if {*_WITH_VALUE, *_FLAGS} & set(param.opts):
                param = copy.copy(param)
                param.expose_value = False
                shared.append(param)
        return [*super().get_params(ctx), *shared]


def move_to_front(arguments: Sequence[str]) -> list[str]:
    """Put the options of the program before the command.

    >>> move_to_front(["ask", "Who?", "--scope", "me", "--json"])
    ['--scope', 'me', '--json', 'ask', 'Who?']
    """
    front: list[str] = []
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--":  # what follows is text, whatever it looks like
            rest += [argument, *waiting]
            break
        name, equals, value = argument.partition("=")
        if name not in (*_WITH_VALUE, *_FLAGS):
            rest.append(argument)
        elif name in _FLAGS or value:
            front.append(argument)
        elif equals or not waiting or waiting[0].startswith("--"):
            raise typer.BadParameter("it needs a value.", param_hint=name)
        else:
            front += [argument, waiting.pop(0)]
    return [*front, *rest]


def _screen(ctx: Any) -> Screen:
    return ctx.obj.screen if isinstance(ctx.obj, Session) else Screen()


def _farewell(ctx: Any) -> str:
    """What is said after Ctrl-C."""
    again = _CONTINUE.get(ctx.invoked_subcommand or "")
    if again is None:
        return "stopped"
    options = ctx.obj.options() if isinstance(ctx.obj, Session) else ""
    return f"stopped; everything up to here is stored, continue with: rulemem {again}{options}"


def _has_bench() -> bool:
    return importlib.util.find_spec("rulemem.bench.cli") is not None
