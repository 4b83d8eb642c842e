"""whammc: instruments WebAssembly modules with scripts in Whamm, runs them, and reads their reports.

    import whammc
    result = whammc.run("app.wasm", "calltree", args=["10"])
    result.report.profile().flamegraph()
"""

from ._library import text as _text
from ._native import lib as _lib
from .diagnostics import Diagnostic, InternalError, Label, Position, Range, WhammError, WhammWarning
from .events import BoundFunction, BoundName, Event, events, info
from .script import Attached, Constant, Frame, Instrumented, Probe, Script, Site, bind, bundled_names, check

__version__ = _text(_lib.whammc_version())

__all__ = [
    "Attached", "BoundFunction", "BoundName", "Constant", "Diagnostic", "Event", "Frame", "Instrumented", "InternalError", "Label",
    "Position", "Probe", "Range", "Script", "Site", "WhammError", "WhammWarning", "bind", "bundled_names", "check", "events", "info",
]  # fmt: skip
