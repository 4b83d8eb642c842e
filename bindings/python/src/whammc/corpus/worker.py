"""The code of a Dask worker: executes a batch of jobs of one script, whose results become one part of the dataset."""

from __future__ import annotations

import collections
import errno
import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence

import pyarrow as pa

from . import dataset, manifest, sandbox
from .jobs import Job, Settings

CACHED_BYTES = 256 << 20  # of modules that a worker has read last
FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


@dataclass
class Done:
    """What came of a batch.

    Attributes:
        count: so many of its jobs were done, from the first one on; the time was up then.
        states: how they ended.
        modules: of a batch without a script: key -> SHA-256 of the contents, "" if they could not be read.
        seconds: how long that took.
        store_error: why the part could not be written. Nothing of the batch is there, then.
        store_full: because there was no space left.
    """

    count: int
    states: collections.Counter[str] = field(default_factory=collections.Counter)
    modules: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    store_error: str = ""
    store_full: bool = False


class _Modules:
    """The modules that this process has read last, as several scripts and inputs want the same one."""

    def __init__(self) -> None:
        self._data: collections.OrderedDict[tuple[str, str], bytes] = collections.OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, job: Job, settings: Settings) -> bytes:
        """The bytes of a module.

        Raises:
            OSError: they cannot be had, or are not those that the job is about.
        """
        if job.problem:
            raise OSError(job.problem)
        name = (job.url, job.version)
        with self._lock:
            if name in self._data:
                self._data.move_to_end(name)
                return self._data[name]
        data = self._fetch(job, settings)
        with self._lock:
            if name not in self._data:
                self._data[name] = data
                self._size += len(data)
            while self._size > CACHED_BYTES:
                self._size -= len(self._data.popitem(last=False)[1])
        return data

    @staticmethod
    def _fetch(job: Job, settings: Settings) -> bytes:
        fs, path = manifest.filesystem(job.url, settings.storage_options)
        size = fs.size(path)
        if size is not None and size > settings.limits.module:
            raise OSError(f"it has {size:,} bytes, and the limit is {settings.limits.module:,}")
        data: bytes = fs.cat_file(path)
        if job.sha256 and hashlib.sha256(data).hexdigest() != job.sha256:
            raise OSError("it has changed since it was examined")
        return data


_modules = _Modules()
_local = threading.local()


def _sandbox() -> sandbox.Sandbox:
    """One for each thread of a worker."""
    if not hasattr(_local, "sandbox"):
        _local.sandbox = sandbox.Sandbox()
    found: sandbox.Sandbox = _local.sandbox
    return found


def _module_row(job: Job, data: Optional[bytes], ended: Optional[sandbox.Ended], failure: dict[str, Any]) -> dict[str, Any]:
    row = {"key": job.key, "url": job.url, "version": job.version, "labels": dict(job.labels), "sha256": "", **failure}
    if data is not None:
        row.update(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    if ended is not None:
        row.update(ended.columns)
    return row


def _run_row(job: Job, data: Optional[bytes], ended: Optional[sandbox.Ended], failure: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"key": job.key, "module": job.sha256, "url": job.url, "input": job.input.name, "status": "failed"}
    if ended is not None:
        row.update(ended.columns, total_seconds=ended.death.seconds, total_cpu_seconds=ended.death.cpu_seconds, memory=ended.death.memory)
        row["status"] = "failed" if ended.failure else "trapped" if row.get("trap") else "exited"
    if data is not None:
        row["size"] = len(data)
    row.update(failure)
    return row


def failed_row(job: Job, stage: str, failure: str, message: str) -> dict[str, Any]:
    """The row of a job that nothing is known of but why."""
    make = _module_row if job.script is None else _run_row
    return make(job, None, None, {"stage": stage, "failure": failure, "message": message})


def _do_job(job: Job, settings: Settings) -> tuple[dict[str, Any], Any]:
    """Does one job, whatever happens: its row, and the rows of its report."""
    try:
        data = _modules.read(job, settings)
    except Exception as error:  # filesystems of fsspec raise what they like
        return failed_row(job, "read", "error", str(error) or repr(error)), None
    try:
        ended = _sandbox().run(job, data, settings)
    except sandbox.Lost as error:
        return failed_row(job, "worker", "crash", str(error)), None
    failure = {"stage": ended.stage, "failure": ended.failure, "message": ended.message} if ended.failure else {}
    make = _module_row if job.script is None else _run_row
    return make(job, data, ended, failure), ended.rows


def write(out: str, settings: Settings, batch: Sequence[Job], results: Sequence[tuple[dict[str, Any], Any]]) -> None:
    """Writes the part of a batch. Its name is that of the whole batch, so that it is replaced if the batch is done again.

    Raises:
        OSError: it could not be written.
    """
    script = batch[0].script
    rows: list[Any] = []
    columns: Any = None  # of all of them
    for row, table in results:
        if table is not None:
            try:
                columns = dataset.unified([columns, table.slice(0, 0)]) if rows else table.slice(0, 0)
                rows.append(table)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                text = f"its variables have other types than those of other reports: {error}"
                row.update(status="failed", stage="report", failure="error", message=text)
    schema = dataset.MODULES if script is None else dataset.RUNS
    files = dataset.Files(out, settings.out_options)
    part = dataset.Part(dataset.folder_of(script.name if script else None), dataset.part_name([job.key for job in batch]))
    table = pa.Table.from_pylist([row for row, _ in results], schema=schema)
    dataset.write_part(files, part, table, dataset.unified(rows) if rows else None)


def do_batch(out: str, settings: Settings, batch: Sequence[Job], budget: float) -> Done:
    """Does the jobs of a batch, which are of one script, until `budget` seconds are over, and writes their part."""
    start, results = time.perf_counter(), []
    done = Done(0)
    for job in batch:
        row, rows = _do_job(job, settings)
        results.append((row, rows))
        if job.script is None:
            done.modules[job.key] = row["sha256"]
        if time.perf_counter() - start > budget:
            break
    done.count = len(results)
    try:
        write(out, settings, batch, results)
    except OSError as error:
        done.store_error, done.store_full = f"{type(error).__name__}: {error}", error.errno in FULL
    except Exception as error:  # of clients of object stores
        done.store_error = f"{type(error).__name__}: {error}"
    for row, _ in results:
        done.states[row.get("status") or ("failed" if row.get("failure") else "examined")] += 1
    done.seconds = time.perf_counter() - start
    return done

