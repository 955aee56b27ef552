"""%%attend: a worksheet as a notebook cell. `%load_ext attend` loads it."""

from __future__ import annotations

from typing import Any

from attend._sheet import Sheet


def attend_cell(line: str, cell: str | None = None) -> Sheet:
    """The sheet in the cell; files that it loads are in the folder of the notebook."""
    return Sheet(line if cell is None else cell, name="cell", folder=".")


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext attend`."""
    shell.register_magic_function(attend_cell, "line_cell", "attend")
