"""A process that has everything loaded, and has a child for each run: usage: python -m whammc.corpus.nursery SOCKET

It has one thread, and nothing of a program ever happens in it. So a child is there in a millisecond or two, is as good as new, and can be
killed without harm. sandbox.py talks to it through a socket: a pickled Task with the file for the result and one for messages
goes in, a pickled Death comes back. When the socket is closed, it kills the child and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Optional

from . import jobs, stages
from .channel import FAILED, Death, Task, receive, send
from .jobs import Settings, file_name

SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
HARD = resource.RLIM_INFINITY


# ---- the child ----


def _limit(settings: Settings) -> None:
    """Limits of the process. Reserved addresses do not count as data, memory that can be written to does."""
    limits = settings.limits
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # the kernel takes the child before anything else when memory is short
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")


def _limit_output(settings: Settings, on: bool) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (settings.limits.output if on else HARD, HARD))


def _work(task: Task, recorder: stages.Recorder) -> None:
    if task.job.script is None:
        from . import examine

        recorder.begin("decode")
        recorder.finish(examine.examine(file_name(task.job.url), task.data), b"")
    else:
        recorder.finish(*stages.run(task.job, task.data, task.settings, recorder, lambda on: _limit_output(task.settings, on)))


def _child(task: Task, out: int, errors: int) -> int:
    """What a child does; its exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.dup2(errors, 2)
    recorder = stages.Recorder(out)
    try:
        _limit(task.settings)
        _work(task, recorder)
        return 0
    except MemoryError:
        os.write(errors, b"there is no memory left")
        return FAILED
    except Exception as error:
        import whammc

        expected = isinstance(error, (whammc.WhammError, OSError))
        _limit_output(task.settings, False)
        os.write(errors, (str(error) or repr(error) if expected else traceback.format_exc()).encode("utf-8", "replace"))
        return FAILED


# ---- the nursery ----


def _wait(pid: int, channel: socket.socket, deadline: float) -> tuple[int, bool, Any]:
    """Waits for a child, and kills it when it is late, or when nobody waits for it any more."""
    watched = os.pidfd_open(pid)
    poll, late, lonely = select.poll(), False, False
    poll.register(watched, select.POLLIN)
    poll.register(channel, select.POLLRDHUP | select.POLLHUP)
    end = time.monotonic() + deadline
    try:
        while True:
            ready = dict(poll.poll(max(0, int(1000 * (end - time.monotonic())))))
            if watched in ready:
                break
            late, lonely = not ready, bool(ready)
            os.kill(pid, signal.SIGKILL)
            poll.unregister(channel)
            end = time.monotonic() + 3600
    finally:
        os.close(watched)
    _, status, used = os.wait4(pid, 0)
    if lonely:
        raise EOFError
    return os.waitstatus_to_exitcode(status), late, used


def serve(channel: socket.socket) -> None:
    """Has children until the other end is closed."""
    while True:
        task, (out, errors) = receive(channel, 2)
        start = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                channel.close()
                status = _child(task, out, errors)
            finally:
                os._exit(status)
        code, late, used = _wait(pid, channel, task.settings.limits.deadline)
        os.close(out)
        os.close(errors)
        del task
        seconds = time.perf_counter() - start
        send(channel, Death(code, late, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024))


class _NoPandas:
    """Keeps pyarrow from loading pandas with its first table: it has no use for it here, and every child would carry it along."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ImportError("pandas is not wanted here")


# (module (func (export "main") (result i32) (i32.const 0)))
WARM = bytes.fromhex("0061736d 01000000 01050160 00017f 03020100 07080104 6d61696e 0000 0a060104 0041000b")


def _warm_up() -> None:
    """Does once what children do, with a program that does nothing: tables that libraries make for themselves are there then."""
    import whammc

    script = jobs.ScriptText("warm", "wasm:opcode:*:before { report var n: u64; n++; }")
    job = jobs.run_job(jobs.Module("warm.wasm", ""), "", script, jobs.Input(), Settings(), [])
    out = os.memfd_create("whammc-warm")
    try:
        stages.run(job, WARM, Settings(), stages.Recorder(out), lambda on: None)
    except (whammc.WhammError, OSError):
        pass  # children will say so
    finally:
        os.close(out)


def _load() -> None:
    """Loads what children need, and makes what they can share, without starting a thread."""
    sys.meta_path.insert(0, _NoPandas())
    import pyarrow as pa
    import pyarrow.compute  # noqa: F401
    import wasmtime  # noqa: F401

    import whammc.report  # noqa: F401

    from . import examine

    pa.table({"first": pa.array(["loads the rest"], pa.string()).dictionary_encode()})
    examine.make_engines()
    _warm_up()
    gc.collect()
    gc.freeze()  # or children would copy every page that they look at


def main(arguments: Optional[list[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the client ends its workers
    channel = socket.socket(fileno=int(words[0]))
    _load()
    try:
        serve(channel)
    except (EOFError, ConnectionError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
