"""Profiles: the calls or the call tree that a report has."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Iterator, Mapping, Optional

from . import _library
from ._library import Path
from .tables import Row, Table

__all__ = ["Arc", "FlameGraph", "FlatRow", "Node", "Profile"]

OUTSIDE = 0xFFFFFFFF


@dataclass(frozen=True)
class FlatRow(Row):
    """A function of a flat profile.

    Attributes:
        function: its name.
        fid: its index; None if the program does not have it (it was inlined, or stands for what is outside).
        calls: by other functions; recursive_calls: by itself.
        self_ns: nanoseconds in the function itself; total_ns: and in all that it has called.
        cycle: from 1: the same for functions that call each other; 0 = none.
        timed: False if its calls were counted, but not timed.
    """

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "function": "string", "fid": "uint32", "calls": "uint64", "recursive_calls": "uint64", "self_ns": "int64", "total_ns": "int64",
        "cycle": "uint32", "timed": "bool_",
    }  # fmt: skip
    BAR: ClassVar[Optional[str]] = "self_ns"

    function: str
    fid: Optional[int]
    calls: int
    recursive_calls: int
    self_ns: int
    total_ns: int
    cycle: int
    timed: bool


@dataclass(frozen=True)
class Arc(Row):
    """A function calls another: names and indices of both (None: not in the program), how often, and the nanoseconds from
    the calls to their returns (0 if the profile has no times)."""

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "caller": "string", "caller_fid": "uint32", "callee": "string", "callee_fid": "uint32", "calls": "uint64", "ns": "int64",
    }  # fmt: skip
    BAR: ClassVar[Optional[str]] = "calls"

    caller: str
    caller_fid: Optional[int]
    callee: str
    callee_fid: Optional[int]
    calls: int
    ns: int


@dataclass(eq=False)
class Node:
    """A function in one calling context: a node of the call tree.

    Attributes:
        function, fid: its name and its index (None: it is not in the program).
        calls: how often it was called in this context.
        self_value, total: nanoseconds in the function itself, and also in all that it has called; calls if the profile has no times.
        depth: 0 = it has no parent.
        parent, children: its neighbours in the tree.
    """

    function: str
    fid: Optional[int]
    calls: int
    self_value: int
    total: int
    depth: int
    parent: Optional[Node] = field(default=None, repr=False)
    children: list[Node] = field(default_factory=list, repr=False)

    @property
    def stack(self) -> tuple[str, ...]:
        """The names of the functions from the outermost to this one."""
        names = [self.function]
        above = self.parent
        while above is not None:
            names.append(above.function)
            above = above.parent
        return tuple(reversed(names))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, depth first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


class FlameGraph:
    """A flame graph. Notebooks display it; clicking a frame zooms in.

    Attributes:
        svg: the picture, which works by itself in a browser.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Path) -> None:
        """Writes the picture into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_html_(self) -> str:
        found = re.search(r'<svg[^>]*\bheight="(\d+)', self.svg)
        height = int(found[1]) if found else 400
        page = f"<!DOCTYPE html><meta charset='utf-8'><body style='margin:0'>{self.svg[self.svg.index('<svg') :]}</body>"
        return f'<iframe srcdoc="{html.escape(page)}" width="100%" height="{height + 10}" style="border:0"></iframe>'


class Profile:
    """The calls or the call tree of a report: see Report.profile().

    Attributes:
        timed: whether there are nanoseconds, and not only calls.
    """

    def __init__(self, report: Any, variables: tuple[str, ...], mangled: bool) -> None:
        self._report, self._variables, self._mangled = report, variables, mangled
        with report._profiled(0, variables, mangled) as found:
            self.timed = bool(found.timed)
            rows = [_flat(found.functions[i]) for i in range(found.nfunctions)]
            functions = {i: (row.function, row.fid) for i, row in enumerate(rows)}
            self._arcs = Table(
                Arc,
                (
                    Arc(*functions[arc.caller], *functions[arc.callee], arc.calls, arc.ns)
                    for arc in (found.arcs[i] for i in range(found.narcs))
                ),
            )
        self._rows = [row for row in rows if row.calls or row.recursive_calls or row.total_ns]
        self._roots: Optional[list[Node]] = None

    def flat(self) -> Table[FlatRow]:
        """The functions by self time, largest first (by calls, if there are no times)."""
        return Table(FlatRow, sorted(self._rows, key=lambda row: (-row.self_ns, -row.calls - row.recursive_calls, row.function)))

    def arcs(self) -> Table[Arc]:
        """Who calls whom."""
        return Table(Arc, self._arcs)

    def tree(self) -> list[Node]:
        """The top-level nodes of the call tree.

        Raises:
            WhammError: the report has calls, but no tree.
        """
        if self._roots is None:
            with self._report._profiled(1, self._variables, self._mangled) as found:
                self._roots = _roots(found)
        return self._roots

    def flamegraph(self, title: Optional[str] = None, value: Optional[str] = None) -> FlameGraph:
        """A flame graph of the call tree.

        Args:
            title: what stands above it; else the name of the program or the report.
            value: which of the tree's values is shown first; else the last one.

        Raises:
            WhammError: the report has calls, but no tree.
        """
        data = self._report.convert("svg", title=title, value=value, variables=self._variables, mangled=self._mangled)
        return FlameGraph(data.decode("utf-8", "replace"))

    def _repr_html_(self) -> str:
        return self.flat()._repr_html_()


def _fid(number: int) -> Optional[int]:
    return None if number == OUTSIDE else number


def _flat(one: Any) -> FlatRow:
    counts = one.calls, one.recursive_calls, one.self, one.total, one.cycle
    return FlatRow(_library.text(one.name), _fid(one.fid), *counts, not one.untimed)


def _roots(found: Any) -> list[Node]:
    functions = [(_library.text(f.name), _fid(f.fid)) for f in (found.functions[i] for i in range(found.nfunctions))]
    nodes: list[Node] = []
    roots: list[Node] = []
    for i in range(found.nnodes):
        one = found.nodes[i]
        parent = None if one.parent == OUTSIDE else nodes[one.parent]
        name, fid = functions[one.function]
        node = Node(name, fid, one.calls, one.self, one.total, one.depth, parent)
        nodes.append(node)
        (roots if parent is None else parent.children).append(node)
    return roots


