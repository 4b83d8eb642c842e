"""whammc: instruments WebAssembly modules with scripts in Whamm, runs them, and reads their reports.

    import whammc
    result = whammc.run("app.wasm", "calltree", args=["10"])
    result.report.profile().flamegraph()
"""

from ._library import text as _text
from ._native import lib as _lib
from .diagnostics import Diagnostic, InternalError, Label, Position, Range, WhammError, WhammWarning
from .events import BoundFunction, BoundName, Event, events, info
from .profile import Arc, FlameGraph, FlatRow, Node, Profile
from .report import Report, ReportRow, Variable
from .run import Result, RunError, Trap, run
from .script import Attached, Constant, Frame, Instrumented, Probe, Script, Site, bind, bundled_names, check
from .tables import Row, Table

__version__ = _text(_lib.whammc_version())

__all__ = [
    "Arc", "Attached", "BoundFunction", "BoundName", "Constant", "Diagnostic", "Event", "FlameGraph", "FlatRow", "Frame", "Instrumented",
    "InternalError", "Label", "Node", "Position", "Probe", "Profile", "Range", "Report", "ReportRow", "Result", "Row", "RunError", "Script", "Site",
    "Table", "Trap", "Variable", "WhammError", "WhammWarning", "bind", "bundled_names", "check", "events", "info", "run",
]  # fmt: skip
