"""Runs stages in separate processes. nursery.py is the process that forks them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Optional

from . import stages
from .channel import FAILED, Death, Task, receive, send
from .jobs import Job, Settings

TRIES = 3  # of a run whose nursery died: somebody killed it, as runs cannot
# Libraries must not start threads, which would not be there in children.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
NO_MEMORY = re.compile(rb"no memory left|memory allocation of \d+ bytes failed|bad_alloc|[Oo]ut of memory|Cannot allocate memory|ENOMEM")


@dataclass(frozen=True)
class Ended:
    """What came of a run, or of examining a module.

    Attributes:
        failure: "" if it finished; else "error" (the stage said why), "crash" (the process died), "memory" or "time" (a limit ended it).
        stage: the one that failed.
        message: why.
        columns: what it found out, by columns of the dataset.
        rows: those of the report, as an Arrow table; None if there are none.
        death: how its process ended.
    """

    failure: str
    stage: str
    message: str
    columns: dict[str, Any]
    rows: Any
    death: Death


class Lost(Exception):
    """The nursery died several times: something kills processes here."""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Sandbox:
    """A nursery. It serves one run at a time; closing it, or the death of this process, ends it and the run."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._channel: Optional[socket.socket] = None

    def _open(self) -> socket.socket:
        if self._channel is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "whammc.corpus.nursery", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT},
                )  # fmt: skip
            self._channel = ours
        return self._channel

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.wait()
        self._channel = self._process = None

    def run(self, job: Job, data: bytes, settings: Settings) -> Ended:
        """Does a job with the bytes of its module.

        Raises:
            Lost: the nursery was killed, and again when it was asked anew.
        """
        for _ in range(TRIES):
            out, errors = os.memfd_create("whammc-result"), os.memfd_create("whammc-messages")
            try:
                channel = self._open()
                send(channel, Task(job, data, settings), (out, errors))
                death, _ = receive(channel)
                return self._ended(death, out, errors, settings)
            except (EOFError, ConnectionError):
                self.close()
            finally:
                os.close(out)
                os.close(errors)
        raise Lost(f"the process that runs programs was killed {TRIES} times")

    def _ended(self, death: Death, out: int, errors: int, settings: Settings) -> Ended:
        import pyarrow as pa

        stage, header, rest = stages.read_result(memoryview(_contents(out)))
        if death.exit_code == 0 and header is not None:
            rows = pa.ipc.open_stream(rest).read_all() if len(rest) else None
            return Ended("", "", "", header, rows, death)
        said = _contents(errors)
        text = said[-stages.MESSAGE :].decode("utf-8", "replace").strip()
        limits = settings.limits
        if death.late:
            return Ended("time", stage, f"not finished after {limits.deadline:g} seconds: killed", {}, None, death)
        if NO_MEMORY.search(said):
            more = f": {text}" if death.exit_code != FAILED else ""
            return Ended("memory", stage, f"more than {limits.memory / (1 << 20):g} MiB of memory{more}", {}, None, death)
        if death.exit_code == FAILED:
            return Ended("error", stage, text, {}, None, death)
        how = f"exit code {death.exit_code}" if death.exit_code >= 0 else f"killed by {_signal_name(-death.exit_code)}"
        return Ended("crash", stage, f"the process died: {how}{': ' if text else ''}{text}", {}, None, death)


def _contents(file: int) -> bytes:
    size = os.fstat(file).st_size
    return os.pread(file, size, 0) if size < (1 << 30) else _long_contents(file, size)


def _long_contents(file: int, size: int) -> bytes:
    """A read is at most 2 GiB long."""
    parts, at = [], 0
    while at < size:
        parts.append(os.pread(file, 1 << 30, at))
        at += len(parts[-1])
    return b"".join(parts)
