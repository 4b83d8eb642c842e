"""Messages of the compiler and of the report reader."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Sequence

__all__ = ["Diagnostic", "Label", "Position", "Range", "WhammError", "InternalError", "WhammWarning"]


@dataclass(frozen=True)
class Position:
    """A position in a file.

    Attributes:
        offset: in bytes from the beginning of the file, from 0.
        line, column: from 1, in code points; None in binary files.
    """

    offset: int
    line: Optional[int] = None
    column: Optional[int] = None


@dataclass(frozen=True)
class Range:
    """A range of a file, from `start` to `end` (exclusive)."""

    start: Position
    end: Position


@dataclass(frozen=True)
class Label:
    """A further location of a message."""

    message: str
    file: Optional[str]
    range: Optional[Range]


@dataclass(frozen=True)
class Diagnostic:
    """An error, a warning or a note.

    Attributes:
        severity: "error", "warning" or "note".
        code: names the kind of message, as in the manual: "undeclared-name".
        message: one sentence.
        file: the script's, module's or report's name; None if it is about none.
        range: where in the file; None if it is about all of it.
        labels: further places.
        hints: what can be done about it.
    """

    severity: str
    code: str
    message: str
    file: Optional[str]
    range: Optional[Range]
    labels: tuple[Label, ...]
    hints: tuple[str, ...]

    def __str__(self) -> str:
        place = self.file or ""
        start = self.range.start if self.range else None
        if start is not None:
            place += f":{start.line}:{start.column}" if start.line is not None else f":{start.offset}"
        return f"{place + ': ' if place else ''}{self.severity}: {self.message} [{self.code}]"


class WhammError(Exception):
    """An error in a script, a module, a monitor or a report.

    The text of the exception is what the command `whammc` prints: messages with the lines that they are about.

    Attributes:
        diagnostics: all errors, warnings and notes.
    """

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(text.rstrip("\n"), tuple(diagnostics))
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)

    def __str__(self) -> str:
        return str(self.args[0])


class InternalError(WhammError):
    """An internal error of the compiler: its output would have been invalid."""


class WhammWarning(UserWarning):
    """A warning, for results that have no attribute `diagnostics`."""


for _name in ("WhammError", "InternalError", "WhammWarning"):  # tracebacks show where they are to be had
    globals()[_name].__module__ = "whammc"


def _range(place: dict[str, Any]) -> Optional[Range]:
    if "offset" not in place:
        return None
    return Range(
        Position(place["offset"], place.get("line"), place.get("column")),
        Position(place["end_offset"], place.get("end_line"), place.get("end_column")),
    )


def parse(text: str) -> tuple[Diagnostic, ...]:
    """Diagnostics from messages in JSON, one a line."""
    found = []
    for line in text.split("\n"):
        if line:
            one = json.loads(line)
            labels = tuple(Label(each["message"], each.get("file"), _range(each)) for each in one.get("labels", ()))
            found.append(
                Diagnostic(
                    one["severity"], one["tag"], one["message"], one.get("file"), _range(one), labels, tuple(one.get("hints", ()))
                )
            )
    return tuple(found)
