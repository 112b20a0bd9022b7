"""`python -m rulemem.bench`: the benchmark without the rest of the command line."""

from __future__ import annotations

import typer

from rulemem.bench.cli import app
from rulemem.errors import RuleMemError


def main() -> None:
    """Run a command; an error of ours becomes a message and exit code 1."""
    try:
        app()
    except RuleMemError as error:
        typer.echo(f"error: {error.message}", err=True)
        if error.hint:
            typer.echo(error.hint, err=True)
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
