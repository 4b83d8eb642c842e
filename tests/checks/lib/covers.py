"""The table of tests/README.md: which tests cover which folders."""

import os
import re

from lib.world import SOURCE

WHERE = ("golden/{}", "unit/test_{}.c", "checks/{}")  # the columns: where the tests are, by what they are called there


def rows():
    """(folders, (golden tests, unit tests, checks)) of each row."""
    with open(os.path.join(SOURCE, "tests", "README.md"), encoding="utf-8") as file:
        table = file.read().split("| folder | golden tests | unit tests | checks |\n")[1].split("\n\n")[0]
    for row in table.splitlines()[1:]:
        folders, *columns = (re.findall(r"`([^`]+)`", column) for column in row.split("|")[1:-1])
        yield folders, columns
