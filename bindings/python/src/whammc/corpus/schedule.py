"""The client: sends batches to workers, repeats lost ones, shows progress.

Nothing of a run is on this machine unless workers are: any scheduler of Dask will do whose workers have this package.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import queue
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, TextIO, Union

import whammc

from . import dataset, manifest, worker
from .jobs import BASELINE, Input, Job, Module, ScriptText, Settings, examine_job, run_job, versions
from .progress import Progress

BATCH_SECONDS = 2.0  # that a batch should take
BUDGET = 4.0  # after so many times that, a worker hands back the rest
MOST = 1024  # jobs in a batch
FIRST = 4  # in the first batches
AHEAD = 2  # batches for each thread of a worker: one at work, one that waits
LOSSES = 5  # how often a single job is tried again when its worker dies
STALLED = 60.0  # seconds more than any batch may take, after which batches are believed to be lost
STORE_FAILURES = 4  # one after the other, until there is no point in going on
ALWAYS_AGAIN = ("read", "worker")  # stages of failures that the module is not to blame for


class CorpusError(Exception):
    """It does not go on: results cannot be written, or there are no workers."""


@dataclass
class Outcome:
    """What a call has done.

    Attributes:
        modules: how many modules there are; examined: how many of them were new.
        runs: how many runs there are for modules, scripts and inputs; done: how many were not there before.
        states: how those ended: "exited", "trapped", "failed".
        lost: how many jobs were repeated because their worker died.
        seconds: how long it took.
    """

    modules: int = 0
    examined: int = 0
    runs: int = 0
    done: int = 0
    states: collections.Counter[str] = field(default_factory=collections.Counter)
    lost: int = 0
    seconds: float = 0.0


# ---- scripts ----


def load_scripts(names: Sequence[Union[str, "os.PathLike[str]"]], define: Mapping[str, Any] = {}) -> list[ScriptText]:
    """Scripts from files, by the names of bundled ones, or "none".

    Args:
        define: values of constants, for all scripts that have them.

    Raises:
        WhammError: there is an error in a script, or none has a constant.
        ValueError: two have the same name.
        OSError: a file cannot be read.
    """
    from ..script import bundled_text

    found: dict[str, ScriptText] = {}
    unused = set(define)
    for given in names:
        path = os.fspath(given)
        name = os.path.basename(path)
        name = name[: -len(".whamm")] if name.endswith(".whamm") else name
        if name in found:
            raise ValueError(f"there are two scripts called {name!r}")
        text, own = "", {}
        if path != BASELINE:
            bundled = None if os.path.exists(path) else bundled_text(path)
            if bundled is not None:
                text = bundled.decode()
            else:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            own = {c.name: define[c.name] for c in whammc.Script(text, name=path).constants if c.name in define} if "{" in text else {}
            whammc.Script(text if "{" in text else text + "\n{", own, name=path)
            unused -= set(own)
        found[name] = ScriptText(name, text, tuple(sorted((key, str(value)) for key, value in own.items())))
    if unused:
        raise ValueError(f"no script has a constant {', '.join(sorted(unused))}")
    return list(found.values())


# ---- workers ----


@contextlib.contextmanager
def connected(scheduler: Optional[str], workers: Optional[int]) -> Iterator[Any]:
    """A client of a scheduler, or of workers that are started on this machine and end with it."""
    import dask
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # workers that die are our business
    if scheduler is not None:
        with Client(scheduler, timeout="30s", set_as_default=False) as client:
            yield client
        return
    patience = {
        "distributed.scheduler.allowed-failures": 0,  # a lost batch comes back at once: the next one is smaller
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.worker.daemon": False,
        "distributed.nanny.pre-spawn-environ": {"OPENBLAS_NUM_THREADS": 1, "OMP_NUM_THREADS": 1, "MALLOC_TRIM_THRESHOLD_": 65536},
        "distributed.comm.timeouts.connect": "60s",
    }
    with tempfile.TemporaryDirectory(prefix="whammc-dask-", ignore_cleanup_errors=True) as folder, dask.config.set(patience):
        with LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, memory_limit=0, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", local_directory=folder, silence_logs=logging.CRITICAL,
        ) as cluster, Client(cluster, set_as_default=False) as client:  # fmt: skip
            cluster.scale(workers or os.cpu_count() or 1)
            yield client


def _threads(client: Any) -> int:
    found = sum(client.nthreads().values())
    return int(found)


def _wanted(client: Any) -> int:
    """How many workers there should be on this machine; 0: they are somewhere else."""
    from distributed import LocalCluster

    return len(client.cluster.worker_spec) if isinstance(client.cluster, LocalCluster) else 0


def _replace_workers(client: Any, wanted: int) -> None:
    """Starts workers on this machine for those that are gone for good: Dask gives up one that was killed while it started, and drops one
    that was lost and did not return within its lost-worker-timeout."""
    from distributed.core import Status

    cluster = client.cluster
    if not wanted:
        return

    async def forget() -> None:
        for name, nanny in list(cluster.workers.items()):
            if nanny.status in (Status.closed, Status.closing, Status.failed):
                del cluster.workers[name]
                cluster.worker_spec.pop(name, None)

    cluster.sync(forget)
    if len(cluster.worker_spec) < wanted or len(cluster.workers) < wanted:
        cluster.scale(wanted)


# ---- handing out ----


class Dispatcher:
    """Hands out jobs in batches until all are done.

    Args:
        client: of Dask.
        out: the URL of the dataset.
        settings: for all runs.
        outcome: is kept up to date.
        progress: is shown.
    """

    def __init__(self, client: Any, out: str, settings: Settings, outcome: Outcome, progress: Progress) -> None:
        self.client, self.out, self.settings, self.outcome, self.progress = client, out, settings, outcome, progress
        self.again: collections.deque[list[Job]] = collections.deque()
        self.ended: queue.Queue[Any] = queue.Queue()
        self.active: dict[Any, list[Job]] = {}
        self.speed: dict[str, float] = {}  # seconds of a job, by script
        self.losses: collections.Counter[str] = collections.Counter()
        self.store_failures = 0
        self.modules: dict[str, str] = {}
        self.threads = _threads(client)
        self.wanted = _wanted(client)
        self.patience = settings.limits.deadline + BUDGET * BATCH_SECONDS + STALLED

    def _size(self, script: str) -> int:
        speed = self.speed.get(script)
        return FIRST if speed is None else max(1, min(MOST, int(BATCH_SECONDS / max(speed, 1e-4))))

    def _batches(self, lists: Iterable[Iterator[Job]]) -> Iterator[list[Job]]:
        """Jobs in batches; each list is of one script."""
        for jobs in lists:
            batch: list[Job] = []
            for job in jobs:
                batch.append(job)
                if len(batch) >= self._size(job.script.name if job.script else ""):
                    yield batch
                    batch = []
            if batch:
                yield batch

    def _submit(self, batch: list[Job]) -> None:
        future = self.client.submit(worker.do_batch, self.out, self.settings, batch, BUDGET * BATCH_SECONDS, pure=False)
        self.active[future] = batch
        future.add_done_callback(self.ended.put)

    def _fill(self, batches: Iterator[list[Job]]) -> None:
        while len(self.active) < AHEAD * max(1, self.threads):
            batch = self.again.popleft() if self.again else next(batches, None)
            if batch is None:
                return
            self._submit(batch)

    def run(self, lists: Iterable[Iterator[Job]]) -> None:
        """Does all jobs.

        Raises:
            CorpusError: it does not go on.
        """
        batches = self._batches(lists)
        self._fill(batches)
        looked = there = came = time.monotonic()  # when workers were looked for, when there were some, when something came back
        while self.active:
            with contextlib.suppress(queue.Empty):
                self._take(self.ended.get(timeout=0.5))
                there = came = time.monotonic()
            if time.monotonic() - looked > 2:
                looked = time.monotonic()
                self.threads = _threads(self.client)
                _replace_workers(self.client, self.wanted)
                if self.threads:
                    there = looked
                elif looked - there > 120:
                    raise CorpusError("there have been no workers for two minutes")
                if looked - came > self.patience:
                    self._hand_out_again()
                    came = looked
            self._fill(batches)
            self.progress.update()

    def _take(self, future: Any) -> None:
        from distributed import CancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        batch = self.active.pop(future, None)
        if batch is None:  # it was handed out again
            return
        try:
            done = future.result()
        except (KilledWorker, CancelledError, CommClosedError):
            self._lost(batch)
        else:
            self._done(batch, done)

    def _done(self, batch: list[Job], done: worker.Done) -> None:
        if done.store_error:
            self.store_failures += 1
            if self.store_failures >= STORE_FAILURES:
                full = ": there is no space left" if done.store_full else ""
                raise CorpusError(f"{self.out}: results cannot be written{full}: {done.store_error}")
            self.again.append(batch)
            return
        self.store_failures = 0
        name = batch[0].script.name if batch[0].script else ""
        mean = done.seconds / max(1, done.count)
        self.speed[name] = mean if name not in self.speed else 0.7 * self.speed[name] + 0.3 * mean
        if done.count < len(batch):
            self.again.appendleft(batch[done.count :])
        self.modules.update(done.modules)
        failed = done.states["failed"]
        if name:
            self.outcome.states.update(done.states)
            self.outcome.done += done.count
        else:
            self.outcome.examined += done.count
        self.progress.update(done.count, failed)

    def _lost(self, batch: list[Job]) -> None:
        """A worker died: half of its batch may not be to blame. A single job that always kills its worker is a failure of its own."""
        self.outcome.lost += len(batch)
        self.progress.update(lost=len(batch))
        if len(batch) > 1:
            half = len(batch) // 2
            self.again.extend((batch[:half], batch[half:]))
            return
        job = batch[0]
        self.losses[job.key] += 1
        if self.losses[job.key] < LOSSES:
            self.again.append(batch)
            return
        row = worker.failed_row(job, "worker", "crash", f"its worker died {LOSSES} times")
        try:
            worker.write(self.out, self.settings, batch, [(row, None)])
        except OSError as error:
            raise CorpusError(f"{self.out}: results cannot be written: {error}") from None
        self._done(batch, worker.Done(1, collections.Counter({"failed": 1}), {job.key: ""}))

    def _hand_out_again(self) -> None:
        """Nothing has come back for longer than any batch may take: whoever had the batches has lost them. If not, their runs are in the
        dataset twice for a while, and more patience is needed."""
        self.patience *= 2
        self.cancel()
        self.again.extendleft(self.active.values())
        self.active.clear()

    def cancel(self) -> None:
        """Takes back what has been handed out."""
        with contextlib.suppress(Exception):
            self.client.cancel(list(self.active), force=True)


# ---- everything ----


def _run_jobs(found: Sequence[Module], contents: Mapping[str, str], script: ScriptText, settings: Settings, made_by: list[str], known: set[str]) -> Iterator[Job]:
    """The runs of a script that are still to be done: the same module in two places is one."""
    seen = set()
    for module in found:
        for given in module.inputs:
            job = run_job(module, contents.get(module.url, ""), script, given, settings, made_by)
            if job.key not in known and job.key not in seen:
                seen.add(job.key)
                yield job


def run(
    scripts: Sequence[Union[str, "os.PathLike[str]"]],
    modules: Union[str, Sequence[str]],
    out: Union[str, "os.PathLike[str]"],
    *,
    inputs: Sequence[Input] = (),
    settings: Settings = Settings(),
    define: Mapping[str, Any] = {},
    scheduler: Optional[str] = None,
    workers: Optional[int] = None,
    again: Sequence[str] = (),
    say: Optional[TextIO] = sys.stderr,
) -> Outcome:
    """Instruments and runs modules with scripts, each module with each script and each input, and adds what comes out to a dataset.

    What the dataset has already is not done again, so a call that was interrupted goes on when it is made once more.

    Args:
        scripts: paths, names of bundled scripts, or "none": the programs as they are.
        modules: patterns, folders, files or manifests, for fsspec: "corpus/**/*.wasm", "s3://bucket/list.csv".
        out: the dataset, a folder or a URL for fsspec.
        inputs: what modules run with; none: no arguments, an empty standard input.
        settings: limits, which rows are kept, options of filesystems.
        define: values of constants, for all scripts that have them.
        scheduler: the address of a scheduler of Dask; None: workers on this machine.
        workers: how many of those; None: one for each processor.
        again: what is done again although it is there: runs whose `stage` or `failure` is one of these, or "all". Modules that could
            not be read are always tried again.
        say: where progress is shown; None: nowhere.

    Raises:
        CorpusError: results cannot be written, or there are no workers.
        ManifestError, WhammError, ValueError, OSError: modules or scripts are not as they should be.
    """
    start, url = time.monotonic(), os.fspath(out)
    texts = load_scripts(scripts, define)
    found = manifest.find([modules] if isinstance(modules, str) else modules, inputs, settings.storage_options)
    made_by = versions()
    url = url if "://" in url else os.path.abspath(url)
    files = dataset.Files(url, settings.out_options)
    outcome = Outcome(modules=len(found))
    redo = (*ALWAYS_AGAIN, *again)
    with connected(scheduler, workers) as client:
        if say is not None:
            print(f"dashboard: {client.dashboard_link}", file=say, flush=True)
        try:
            _all(client, files, texts, found, settings, made_by, redo, outcome, say)
        except OSError as error:
            raise CorpusError(f"{url}: results cannot be written: {error}") from error
    outcome.seconds = time.monotonic() - start
    return outcome


def _all(
    client: Any, files: dataset.Files, scripts: Sequence[ScriptText], found: Sequence[Module], settings: Settings, made_by: list[str],
    redo: Sequence[str], outcome: Outcome, say: Optional[TextIO],
) -> None:  # fmt: skip
    """First the modules, whose contents are what runs are known by, then the runs, then large parts of small ones."""
    examined = {module.url: examine_job(module, made_by) for module in found}
    known = dataset.repair(files, None, redo, {url: job.key for url, job in examined.items()})
    wanted = [job for job in examined.values() if job.key not in known.keys]
    hashes = {**known.modules, **_drive(client, files, settings, outcome, Progress("modules", len(wanted), say), [iter(wanted)])}
    contents = {url: hashes.get(job.key, "") for url, job in examined.items()}
    there = {script.name: dataset.repair(files, script.name, redo, contents=contents).keys for script in scripts}

    def pending(script: ScriptText) -> Iterator[Job]:
        return _run_jobs(found, contents, script, settings, made_by, there[script.name])

    outcome.runs = sum(sum(1 for _ in _run_jobs(found, contents, script, settings, made_by, set())) for script in scripts)
    total = sum(sum(1 for _ in pending(script)) for script in scripts)
    _drive(client, files, settings, outcome, Progress("runs", total, say), [pending(script) for script in scripts])
    for script in (None, *(one.name for one in scripts)):
        dataset.repair(files, script)
        with contextlib.suppress(OSError):  # without the space for it, small parts stay
            dataset.merge(files, script)


def _drive(
    client: Any, files: dataset.Files, settings: Settings, outcome: Outcome, progress: Progress, lists: Sequence[Iterator[Job]]
) -> dict[str, str]:
    dispatcher = Dispatcher(client, files.url, settings, outcome, progress)
    try:
        dispatcher.run(lists)
    except BaseException:
        dispatcher.cancel()
        raise
    finally:
        progress.close()
    return dispatcher.modules
