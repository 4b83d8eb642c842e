"""Events that probes can match, and the names bound there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from . import _library
from ._native import ffi, lib
from .script import Inputs, _finish

__all__ = ["BoundName", "BoundFunction", "Event", "events", "info"]


@dataclass(frozen=True)
class BoundName:
    """A name that a probe can use at an event.

    Attributes:
        type: "u32"; None: the rule must say, as in `call:before(arg0: i32)`.
        static: whether it is a constant at each site.
        assignable: whether a probe can give it another value.
        doc: what it is.
    """

    name: str
    type: Optional[str]
    static: bool
    assignable: bool
    doc: str


@dataclass(frozen=True)
class BoundFunction:
    """A function that a probe can call at an event: "alt_call_by_id(i32)", and what it does."""

    text: str
    doc: str


@dataclass(frozen=True)
class Event:
    """An event that a rule matches: its text, "wasm:opcode:br_if:before", its description, and the names bound there."""

    text: str
    doc: str
    names: tuple[BoundName, ...]
    functions: tuple[BoundFunction, ...]


def _event(event: Any) -> Event:
    text = _library.text
    names = tuple(
        BoundName(text(n.name), _library.maybe_text(n.type), bool(n.is_static), bool(n.assignable), text(n.doc))
        for n in (event.names[i] for i in range(event.nnames))
    )
    functions = tuple(
        BoundFunction(text(f.text), text(f.doc)) for f in (event.functions[i] for i in range(event.nfunctions))
    )
    return Event(text(event.text), text(event.doc), names, functions)


def info(rule: str) -> list[Event]:
    """The events that a rule matches, in the order of probe numbers.

    Raises:
        WhammError: it is not a rule, or matches nothing.

    >>> [event.text for event in info("wasm:opcode:br*:before")][:3]
    ['wasm:opcode:br:before', 'wasm:opcode:br_if:before', 'wasm:opcode:br_table:before']
    >>> [(name.type, name.static) for name in info("wasm:opcode:br_if:before")[0].names if name.name == "taken"]
    [('bool', False)]
    """
    found: list[Event] = []
    handle = ffi.new_handle(lambda event: found.append(_event(event)))
    with Inputs().compiler() as w:
        _finish(w, lib.whammc_explain(w, _library.encoded(rule), lib.on_event, handle))
    return found


def events() -> list[Event]:
    """All events.

    >>> len(events()) > 1000
    True
    """
    return info("*:*:*:*") + info("*:*:*") + info("*:*")
