"""The output formats, from the table that the compiler has them from."""

import collections
import re

from lib.world import read

View = collections.namedtuple("View", "constant number name source write traits ending")  # source: ROWS, CALLS, TREE, STACKS or HEAP
Printed = collections.namedtuple("Printed", "constant name")
Coverage = collections.namedtuple("Coverage", "constant name write ending")

_TABLE = read("src/format/formats.def")


def _rows(macro):
    for row in re.findall(rf"^{macro}\((.*)\)$", _TABLE, re.M):
        yield [cell.strip().strip('"') for cell in row.split(",")]


VIEWS = [View(constant, int(number), *rest) for constant, number, *rest in _rows("FORMAT")]
ALIASES = {name: next(v.name for v in VIEWS if v.constant == constant) for constant, name in _rows("ALIAS")}  # other names of formats
PRINTED = [Printed(*row) for row in _rows("PRINTED")]
COVERAGE = [Coverage(*row) for row in _rows(r"COVERAGE\w*")]
BINARY = [v.name for v in VIEWS if "FORMAT_IS_BINARY" in v.traits]


def names():
    return [v.name for v in VIEWS]


def coverage_names():
    return [c.name for c in COVERAGE]
