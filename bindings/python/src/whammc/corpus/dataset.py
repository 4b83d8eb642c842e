"""The files of a dataset.

    OUT/modules/PART.parquet               a row for each module that was found
    OUT/runs/script=NAME/PART.parquet      a row for each run, or for what kept it from being one
    OUT/rows/script=NAME/PART.parquet      the rows of the reports

A part is what a worker did at a time. It is written whole or not at all, and rows before runs: a run that has a row has all of it. Each
row has a key that stands for everything that decided about it. If a part was written twice, since a worker was thought to be dead and
was not, rows with keys that are there already are removed by `repair`. `merge` makes few large parts of many small ones.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .manifest import filesystem

MODULES = pa.schema([
    ("key", pa.string()), ("url", pa.string()), ("version", pa.string()), ("sha256", pa.string()), ("size", pa.uint64()), ("stage", pa.string()),
    ("failure", pa.string()), ("message", pa.string()), ("language", pa.string()), ("kind", pa.string()), ("features", pa.list_(pa.string())),
    ("producers", pa.map_(pa.string(), pa.string())), ("imports", pa.list_(pa.string())), ("imported", pa.uint32()), ("exported", pa.uint32()),
    ("functions", pa.uint32()), ("code_size", pa.uint64()), ("custom", pa.list_(pa.string())), ("opcodes", pa.map_(pa.string(), pa.uint64())),
    ("labels", pa.map_(pa.string(), pa.string())),
])  # fmt: skip

RUNS = pa.schema([
    ("key", pa.string()), ("module", pa.string()), ("url", pa.string()), ("input", pa.string()), ("status", pa.string()), ("stage", pa.string()),
    ("failure", pa.string()), ("message", pa.string()), ("exit_code", pa.int32()), ("trap", pa.string()), ("sites", pa.uint64()), ("rows", pa.uint64()),
    ("size", pa.uint64()), ("instrumented_size", pa.uint64()), ("instrument_seconds", pa.float64()), ("load_seconds", pa.float64()),
    ("run_seconds", pa.float64()), ("cpu_seconds", pa.float64()), ("report_seconds", pa.float64()), ("total_seconds", pa.float64()),
    ("total_cpu_seconds", pa.float64()), ("memory", pa.uint64()), ("fuel", pa.uint64()), ("stdout_size", pa.uint64()), ("stdout_sha256", pa.string()),
    ("stderr_size", pa.uint64()),
])  # fmt: skip

# Columns of runs and modules that may differ between two runs of the same corpus.
VARYING = frozenset("instrument_seconds load_seconds run_seconds cpu_seconds report_seconds total_seconds total_cpu_seconds memory".split())
MERGED_BYTES = 64 << 20  # parts of at least this size are not merged
MERGED_PARTS = 8  # so many small parts of a script are left alone
STATES = ("exited", "trapped", "failed")


@dataclass(frozen=True)
class Part:
    """A part of a table: `folder` is "modules", or "runs/script=NAME"."""

    folder: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.parquet"

    @property
    def rows_path(self) -> Optional[str]:
        """Where its rows of reports are, if it is one of runs."""
        return f"rows{self.folder[len('runs') :]}/{self.name}.parquet" if self.folder.startswith("runs/") else None


def folder_of(script: Optional[str]) -> str:
    return "modules" if script is None else f"runs/script={script}"


def part_name(keys: Sequence[str]) -> str:
    return "part-" + hashlib.sha256("".join(keys).encode()).hexdigest()[:24]


class Files:
    """The files below a URL.

    Args:
        url: of the dataset, for fsspec.
        options: for fsspec.
    """

    def __init__(self, url: str, options: Mapping[str, Any] = {}) -> None:
        self.url = url
        self.fs, root = filesystem(url, options)
        self.root = root.rstrip("/")
        self.local = "file" in ((self.fs.protocol,) if isinstance(self.fs.protocol, str) else self.fs.protocol)

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def write(self, name: str, data: bytes) -> None:
        """Writes a file whole or not at all.

        Raises:
            OSError: it could not be written, and is as it was.
        """
        path = self.path(name)
        if not self.local:  # an object is there when all of it is
            self.fs.pipe_file(path, data)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def read(self, name: str, columns: Optional[Sequence[str]] = None) -> Any:
        """A table."""
        if self.local:
            return pq.ParquetFile(self.path(name)).read(columns=columns)
        with self.fs.open(self.path(name), "rb") as file:
            return pq.ParquetFile(file).read(columns=columns)

    def remove(self, name: str) -> None:
        try:
            self.fs.rm_file(self.path(name))
        except FileNotFoundError:
            pass

    def names(self, folder: str) -> dict[str, int]:
        """The files below a folder, and their sizes."""
        self.fs.invalidate_cache()
        try:
            found = self.fs.find(self.path(folder), detail=True)
        except FileNotFoundError:
            return {}
        return {path[len(self.root) + 1 :]: info.get("size") or 0 for path, info in found.items()}

    def parts(self, folder: str) -> dict[Part, int]:
        """The parts of a folder, in the order of their names, and their sizes."""
        found = sorted(self.names(folder).items())
        return {
            Part(name.rpartition("/")[0], name.rpartition("/")[2][: -len(".parquet")]): size for name, size in found if name.endswith(".parquet")
        }

    def scripts(self) -> list[str]:
        """The scripts that the dataset has runs of."""
        return sorted({part.folder[len("runs/script=") :] for part in self.parts("runs")})


def encoded(table: Any) -> bytes:
    """A table as a file of Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unified(tables: Sequence[Any]) -> Any:
    """Tables of rows, one below the other; variables that some reports do not have are null there.

    Raises:
        pa.ArrowInvalid, pa.ArrowTypeError: a column has two types.
    """
    return pa.concat_tables(tables, promote_options="default")


def write_part(files: Files, part: Part, table: Any, rows: Optional[Any]) -> None:
    """Writes a part: its rows first. A part without anything is removed."""
    if part.rows_path is not None:
        if rows is not None and rows.num_rows:
            files.write(part.rows_path, encoded(rows))
        else:
            files.remove(part.rows_path)
    if table.num_rows:
        files.write(part.path, encoded(table))
    else:
        files.remove(part.path)


def _filtered(files: Files, part: Part, keep: set[str]) -> None:
    """Leaves only what has these keys in a part."""
    wanted = pa.array(sorted(keep), pa.string())
    rows = None
    if part.rows_path in files.names(os.path.dirname(part.rows_path or "")):
        rows = files.read(part.rows_path)
        rows = rows.filter(pc.is_in(rows["key"], wanted))
    table = files.read(part.path)
    write_part(files, part, table.filter(pc.is_in(table["key"], wanted)), rows)


# ---- what is known, and repairing ----


@dataclass(frozen=True)
class Known:
    """What a table has: its keys, and of modules what their URLs are by contents."""

    keys: set[str]
    modules: dict[str, str]


def _unwanted(table: Any, again: Iterable[str]) -> Any:
    """Which rows are to be made again: their stage or their failure is one of these."""
    names = pa.array(sorted(again), pa.string())
    return pc.or_(pc.is_in(table["stage"], names), pc.is_in(table["failure"], names))


def repair(
    files: Files, script: Optional[str], again: Iterable[str] = (), current: Mapping[str, str] = {}, contents: Mapping[str, str] = {}
) -> Known:
    """Makes the parts of a script, or of the modules, whole: each key once, no rows without their runs, no temporary files.

    Args:
        current: keys of modules by their URLs: other rows of these URLs, of what was there before, are removed.
        contents: hashes of modules by their URLs: runs of these URLs that were made while the hash was unknown are removed.
        again: stages and failures of rows that are removed, so that they are made again; "all" removes all.

    Returns:
        what is there.
    """
    folder, known = folder_of(script), Known(set(), {})
    again = frozenset(again)
    parts = files.parts(folder)
    columns = ["key", "stage", "failure", "url", "sha256" if script is None else "module"]
    for part in parts:
        table = files.read(part.path, columns)
        keys = table["key"].to_pylist()
        unwanted = [True] * len(keys) if "all" in again else _unwanted(table, again).to_pylist()
        if current:
            unwanted = [bad or current.get(url, key) != key for bad, url, key in zip(unwanted, table["url"].to_pylist(), keys)]
        if contents and script is not None:
            places = zip(unwanted, table["url"].to_pylist(), table["module"].to_pylist())
            unwanted = [bad or (not module and bool(contents.get(url))) for bad, url, module in places]
        mine = {key for key, bad in zip(keys, unwanted) if not bad and key not in known.keys}
        if len(mine) < len(keys):
            _filtered(files, part, mine)
        known.keys.update(mine)
        if script is None:
            known.modules.update((key, sha256) for key, sha256 in zip(keys, table["sha256"].to_pylist()) if key in mine)
    if script is not None:
        wanted = {part.rows_path for part in parts}
        for name in files.names(f"rows/script={script}"):
            if name not in wanted:
                files.remove(name)
    for name in files.names(folder):
        if name.endswith(".tmp"):
            files.remove(name)
    return known


def merge(files: Files, script: Optional[str], least: int = MERGED_PARTS) -> int:
    """Makes large parts of small ones, and says how many there are now. Nothing is lost if it is killed: `repair` finds what is there twice."""
    parts = files.parts(folder_of(script))
    rows_sizes = files.names(f"rows/script={script}") if script is not None else {}
    groups: list[list[Part]] = [[]]
    filled = 0
    for part, size in parts.items():
        size += rows_sizes.get(part.rows_path or "", 0)
        if size >= MERGED_BYTES:
            continue
        if filled + size > MERGED_BYTES:
            groups.append([])
            filled = 0
        groups[-1].append(part)
        filled += size
    left = len(parts)
    for group in groups:
        if len(group) > least:
            _merge(files, group, set(rows_sizes))
            left -= len(group) - 1
    return left


def _merge(files: Files, group: Sequence[Part], there: set[str]) -> None:
    table = pa.concat_tables([files.read(part.path) for part in group])
    paths = [part.rows_path for part in group if part.rows_path in there]
    try:
        rows = unified([files.read(path) for path in paths if path is not None]) if paths else None
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return  # parts of scripts of one name, with variables of two types
    table = table.sort_by("key")
    rows = rows.take(pc.sort_indices(rows["key"])) if rows is not None else None
    write_part(files, Part(group[0].folder, part_name([part.name for part in group])), table, rows)
    for part in group:
        files.remove(part.path)
        if part.rows_path is not None:
            files.remove(part.rows_path)


# ---- using it ----


def connect(out: str, storage_options: Mapping[str, Any] = {}) -> Any:
    """Opens a dataset in DuckDB.

    Returns:
        a connection that has the views `modules`, `runs`, and for each script with rows `rows_NAME` (other characters than letters,
        digits and underscores are underscores there).

    Raises:
        ImportError: duckdb is not installed.
        OSError: there is no dataset.
    """
    import duckdb

    files = Files(out, storage_options)
    if not files.parts("modules"):
        raise FileNotFoundError(f"{out}: there is no dataset")
    connection = duckdb.connect()
    root = files.root
    if not files.local:
        connection.register_filesystem(files.fs)
        root = files.fs.unstrip_protocol(root)
    quoted = root.replace("'", "''")

    def view(name: str, pattern: str) -> None:
        connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{quoted}/{pattern}', union_by_name=true, hive_partitioning=true)")

    view("modules", "modules/*.parquet")
    if files.parts("runs"):
        view("runs", "runs/*/*.parquet")
    for folder in sorted({part.folder for part in files.parts("rows")}):
        script = folder.partition("=")[2]
        view("rows_" + "".join(c if c.isalnum() or c == "_" else "_" for c in script), f"{folder}/*.parquet".replace("'", "''"))
    return connection
