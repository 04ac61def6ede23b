"""`decapod` and `python -m decapod_py`."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Runs one command line and gives its exit code: the fast route first, Typer where that is in doubt."""
    arguments = sys.argv[1:] if argv is None else argv
    from decapod_py.surfaces.cli.fast import run_fast

    exit_code = run_fast(arguments)
    if exit_code is not None:
        return exit_code
    from decapod_py.surfaces.cli.app import run_typer

    return run_typer(arguments, _serve)


def _serve(directory: str, toolset: str, actor: str | None) -> None:
    # Here and not in the command line: surfaces do not know each other.
    from decapod_py.surfaces.mcp import serve

    serve(directory, toolset, actor)


if __name__ == "__main__":
    sys.exit(main())
