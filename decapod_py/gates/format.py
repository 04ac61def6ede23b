"""Data of a newer version: an event or a config.toml that this program is too old to read.

Folding what is only half understood could show something that is not true, so everything else is refused until the
program is upgraded.
"""

from __future__ import annotations

from collections.abc import Iterator

from decapod_py.domain.event import FORMAT
from decapod_py.gates.context import Context
from decapod_py.gates.finding import Finding
from decapod_py.workspace import CONFIG, FOLDER

_FIX = "upgrade the package decapod-py"


def check(context: Context) -> Iterator[Finding]:
    rows = context.state.connection.execute(
        "SELECT segment, line, message FROM segment_problems WHERE code = 'newer-format' ORDER BY segment, line"
    )
    for segment, line, message in rows:
        yield context.finding("newer-format", message, _FIX, file=f"{FOLDER}/ledgers/{segment}", line=line)
    version = context.workspace.config_format()
    if version > FORMAT:
        message = f"config.toml has format {version}; this program reads up to {FORMAT}"
        yield context.finding("newer-format", message, _FIX, file=CONFIG)
