"""The summary, as text."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Sequence, Union

import pyarrow as pa
import pyarrow.compute as pc

from . import dataset
from .jobs import BASELINE

WIDTH = 110  # columns of the terminal that messages are cut to
MESSAGES = 10  # kinds of failures that are shown
RUN_COLUMNS = ("key", "module", "url", "input", "status", "stage", "failure", "message", "trap", "sites", "rows", "size", "instrumented_size", "cpu_seconds",
               "instrument_seconds", "total_cpu_seconds", "memory", "stdout_sha256", "exit_code")  # fmt: skip


def _counted(values: Any) -> list[tuple[str, int]]:
    """Values and how often there are, most frequent first."""
    found = [(str(one["values"]), int(one["counts"])) for one in pc.value_counts(values).to_pylist() if one["values"] is not None]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def table_text(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in [titles, *rows]) for k in range(len(titles))]
    lines = []
    for row in [titles, *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _median(column: Any) -> Any:
    return pc.quantile(column, 0.5)[0].as_py() if len(column) > column.null_count else None


def _milliseconds(seconds: Any) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.1f}"


def _modules_text(modules: Any) -> list[str]:
    distinct = len(set(modules["sha256"].to_pylist()) - {""})
    size = pc.sum(modules["size"]).as_py() or 0
    lines = [f"{len(modules):,} modules, {distinct:,} of them different, {size / 1e6:,.1f} MB"]
    for title, name in (("languages", "language"), ("kinds", "kind")):
        found = _counted(modules[name])
        if found:
            lines.append(f"  {title}: {', '.join(f'{value} {count:,}' for value, count in found)}")
    features = _counted(pc.list_flatten(modules["features"].combine_chunks()))
    if features:
        lines.append(f"  features: {', '.join(f'{value} {count:,}' for value, count in features)}")
    return lines


def _script_row(script: str, runs: Any) -> list[str]:
    states = dict(_counted(runs["status"]))
    ran = runs.filter(pc.equal(runs["status"], "exited"))
    shown = [f"{states.get(state, 0):,}" for state in dataset.STATES]
    sites, rows = (pc.sum(runs[name]).as_py() or 0 for name in ("sites", "rows"))
    memory = pc.max(runs["memory"]).as_py() or 0
    return [script, f"{len(runs):,}", *shown, f"{sites:,}", f"{rows:,}", _milliseconds(_median(runs["instrument_seconds"])),
            _milliseconds(_median(ran["cpu_seconds"])), _milliseconds(_median(runs["total_cpu_seconds"])), f"{memory / 1e6:,.0f}"]  # fmt: skip


TITLES = ["script", "runs", *dataset.STATES, "sites", "rows", "instrument ms", "run ms", "all ms", "most MB"]


def essence(message: str) -> str:
    """A message in one line: what engines say begins with what they were doing, and ends with why they could not."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if "Caused by:" in lines:
        return re.sub(r"^\d+: ", "", lines[-1])
    return lines[0].removeprefix("the engine could not load the program: ") if lines else ""


def _failures(tables: Mapping[str, Any]) -> list[str]:
    """The most frequent kinds of failures, each with one of its messages."""
    found: dict[tuple[str, str], tuple[int, str, str]] = {}
    for table in tables.values():
        failed = table.filter(pc.is_valid(table["failure"]))
        for stage, failure, message, url in zip(*(failed[name].to_pylist() for name in ("stage", "failure", "message", "url"))):
            kind = (stage, failure)
            count, text, where = found.get(kind, (0, message, url))
            found[kind] = (count + 1, text, where)
    lines = []
    for (stage, failure), (count, text, url) in sorted(found.items(), key=lambda item: (-item[1][0], item[0]))[:MESSAGES]:
        lines.append(f"  {count:,} × {stage}, {failure}, as {url}:"[:WIDTH])
        lines.append(f"      {essence(text or '')}"[:WIDTH])
    return lines


def _traps(tables: Mapping[str, Any]) -> list[str]:
    traps = _counted(pa.concat_tables([table.select(["trap"]) for table in tables.values()])["trap"])
    return [f"  traps: {', '.join(f'{kind} {count:,}' for kind, count in traps)}"] if traps else []


def differing(baseline: Any, runs: Any) -> int:
    """How many runs have another exit code or another output than the program had without instrumentation."""
    def ends(table: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
        done = table.filter(pc.equal(table["status"], "exited"))
        columns = [done[name].to_pylist() for name in ("module", "input", "exit_code", "stdout_sha256")]
        return {(module, given): (code, output) for module, given, code, output in zip(*columns)}

    before, after = ends(baseline), ends(runs)
    return sum(before[one] != end for one, end in after.items() if one in before)


def report(out: Union[str, "os.PathLike[str]"], storage_options: Mapping[str, Any] = {}) -> str:
    """The summary of a dataset: modules, runs by script, failures by stage.

    Raises:
        OSError: there is no dataset.
    """
    files = dataset.Files(os.fspath(out), storage_options)
    parts = files.parts("modules")
    if not parts:
        raise FileNotFoundError(f"{os.fspath(out)}: there is no dataset")
    modules = pa.concat_tables([files.read(part.path) for part in parts])
    lines = _modules_text(modules)
    tables = {}
    for script in files.scripts():
        tables[script] = pa.concat_tables([files.read(part.path, RUN_COLUMNS) for part in files.parts(dataset.folder_of(script))])
    if tables:
        lines += ["", *table_text(TITLES, [_script_row(script, table) for script, table in tables.items()])]
        lines += _traps(tables)
        if BASELINE in tables:
            for script, table in tables.items():
                count = differing(tables[BASELINE], table)
                if count:
                    lines.append(f"  {count:,} runs with {script} have another exit code or output than without")
    failed = _failures(tables or {"modules": modules})  # a module that cannot be examined has runs that say so, too
    if failed:
        lines += ["", "failures", *failed]
    return "\n".join(lines)
