"""The protocol between sandbox.py and nursery.py."""

from __future__ import annotations

import pickle
import socket
from dataclasses import dataclass
from typing import Any

from .jobs import Job, Settings

HEADER = 8  # bytes of a message's length
FAILED = 3  # exit status of a child whose stage failed and was reported


@dataclass(frozen=True)
class Task:
    """What a child does: examine a module, or a run."""

    job: Job
    data: bytes
    settings: Settings


@dataclass(frozen=True)
class Death:
    """How a child ended.

    Attributes:
        exit_code: or minus the signal that killed it.
        late: it was killed because of its deadline.
        seconds, cpu_seconds: how long it lived, what it used of the processor.
        memory: the most bytes that it had at a time, with what it shares with the nursery.
    """

    exit_code: int
    late: bool
    seconds: float
    cpu_seconds: float
    memory: int


def send(to: socket.socket, thing: Any, files: tuple[int, ...] = ()) -> None:
    """Sends an object, and files with it."""
    data = pickle.dumps(thing)
    header = len(data).to_bytes(HEADER, "little")
    if files:
        socket.send_fds(to, [header], list(files))
    else:
        to.sendall(header)
    to.sendall(data)


def receive(source: socket.socket, files: int = 0) -> tuple[Any, list[int]]:
    """Receives an object, and so many files with it.

    Raises:
        EOFError: the other end is closed.
    """
    got: list[int] = []
    if files:
        header, got, _, _ = socket.recv_fds(source, HEADER, files)
        header += _exactly(source, HEADER - len(header)) if header else b""
    else:
        header = _exactly(source, HEADER)
    if len(header) < HEADER:
        raise EOFError
    return pickle.loads(_exactly(source, int.from_bytes(header, "little"))), got


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        count = source.recv_into(view[at:])
        if not count:
            raise EOFError
        at += count
    return bytes(data)
