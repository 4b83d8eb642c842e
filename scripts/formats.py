"""The output formats, from src/format/formats.def, for scripts/commands and the tests."""

import collections
import os
import re

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
View = collections.namedtuple("View", "constant number name source write traits ending")  # source: ROWS, CALLS, TREE, STACKS or HEAP
Printed = collections.namedtuple("Printed", "constant name")
Coverage = collections.namedtuple("Coverage", "constant name write ending")


def read(path):
    """The text of a file of the project."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def rows(path):
    """The rows of a table: for each its macro and its arguments, without quotes."""
    for macro, cells in re.findall(r'^([A-Z_]+)\(((?:[^()"]|"[^"]*")*)\)$', read(path), re.M):
        cells = re.findall(r'(?:[^,"]|"[^"]*")+', cells)
        yield macro, ["".join(re.findall('"([^"]*)"', cell)) if '"' in cell else cell.strip() for cell in cells]


_ROWS = list(rows("src/format/formats.def"))
VIEWS = [View(constant, int(number), *rest) for constant, number, *rest in (cells for macro, cells in _ROWS if macro == "FORMAT")]
ALIASES = {name: next(v.name for v in VIEWS if v.constant == constant) for constant, name in (cells for macro, cells in _ROWS if macro == "ALIAS")}
PRINTED = [Printed(*cells) for macro, cells in _ROWS if macro == "PRINTED"]
COVERAGE = [Coverage(*cells) for macro, cells in _ROWS if macro.startswith("COVERAGE")]
BINARY = [v.name for v in VIEWS if "FORMAT_IS_BINARY" in v.traits]


def names():
    return [v.name for v in VIEWS]


def coverage_names():
    return [c.name for c in COVERAGE]


def endings(rows):
    """The formats of files by their endings, each the first one with it."""
    of = {}
    for row in rows:
        of.setdefault(row.ending, row.name)
    return {ending: name for ending, name in of.items() if ending}


def lists():
    """Those that src/cli/commands.def names, in the order of the help."""
    profile = [cells[1] if macro == "ALIAS" else cells[2] for macro, cells in _ROWS if macro in ("FORMAT", "ALIAS")]
    of_report = [cells[1] for wanted in ("COVERAGE", "COVERAGE_TABLE") for macro, cells in _ROWS if macro == wanted]
    return {"PROFILE_FORMATS": profile, "REPORT_FORMATS": profile + of_report, "PRINTED_FORMATS": [p.name for p in PRINTED],
            "COVERAGE_FORMATS": coverage_names()}
