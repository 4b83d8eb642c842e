"""One run, stage by stage. It happens in a process of its own, which sandbox.py has made and can kill at any time.

What the process says goes into a file that is only in memory: first the stage, in a fixed place, which is what is known if the process
ends without a word; then a header in JSON, and the rows as an Arrow stream.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any, Callable, Optional

import whammc

from .jobs import BASELINE, Job, Settings, file_name

STAGES = ("read", "decode", "instrument", "validate", "load", "run", "report", "store")
STAGE_SIZE = 16  # bytes of the stage, at the beginning of the file
LENGTH_SIZE = 8  # bytes of the header's length, after the stage
MESSAGE = 4000  # characters of a message that are kept
RESERVED = ("key", "module", "input")  # columns of rows that are not from reports
PLACES = ("probe", "function", "fid", "pc", "instruction")  # those that are no variables


class Recorder:
    """Says how far a run is."""

    def __init__(self, out: int) -> None:
        self.out = out
        self.stage = "decode"

    def begin(self, stage: str) -> None:
        self.stage = stage
        os.pwrite(self.out, stage.encode().ljust(STAGE_SIZE), 0)

    def finish(self, header: dict[str, Any], rows: bytes) -> None:
        text = json.dumps(header).encode()
        with open(self.out, "r+b", closefd=False) as file:
            file.seek(STAGE_SIZE)
            file.write(len(text).to_bytes(LENGTH_SIZE, "little") + text + rows)


def read_result(data: memoryview) -> tuple[str, Optional[dict[str, Any]], memoryview]:
    """What a process has said: the stage, the header if it finished, and the rows."""
    stage = bytes(data[:STAGE_SIZE]).decode("ascii", "replace").strip(" \0") or "decode"
    start = STAGE_SIZE + LENGTH_SIZE
    length = int.from_bytes(data[STAGE_SIZE:start], "little")
    if not length or len(data) < start + length:
        return stage, None, data[:0]
    return stage, json.loads(bytes(data[start : start + length])), data[start + length :]


def _rows(report: Any, job: Job, which: str) -> Any:
    """The rows of a report as a table: what the run is known by, and what the report says."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = report.to_arrow()
    plain, names = [], []
    for name, column in zip(table.column_names, table.columns):
        if name == "script":
            continue  # the partition is called so, and there is one
        if pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
        plain.append(column)
        names.append(f"script0.{name}" if name in RESERVED else name)
    table = pa.table(plain, names=names)
    if which == "nonzero":
        keep = None
        for column in (table[name] for name in names if name not in PLACES):
            number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            here = pc.fill_null(pc.not_equal(column, 0), False) if number else pc.is_valid(column)
            keep = here if keep is None else pc.or_(keep, here)
        table = table if keep is None else table.filter(keep)
    for k, value in enumerate((job.key, job.sha256, job.input.name)):
        table = table.add_column(k, RESERVED[k], pa.array([value] * len(table), pa.string()))
    return table


def _stream(table: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _is_valid(program: bytes) -> bool:
    """The engine's opinion of a module."""
    import wasmtime

    from .. import _host

    try:
        wasmtime.Module.validate(_host.make_engine(program, parallel=False), program)
    except wasmtime.WasmtimeError:
        return False
    return True


def _refuse_foreign(data: bytes, program: bytes) -> None:
    """Validates a module that cannot run here, as what it imports is not WASI; to compile it would take long, and be in vain.

    Raises:
        RunError: it is such a module.
    """
    from .examine import WASI, Sections

    foreign = [f"{module}.{name}" for module, name, _ in Sections(data).imports if module != WASI]
    if foreign and _is_valid(program):
        more = f", and {len(foreign) - 1:,} more" if len(foreign) > 1 else ""
        raise whammc.RunError(f"it needs a host of its own: it imports {foreign[0]}{more}")


def run(job: Job, data: bytes, settings: Settings, recorder: Recorder, limit_output: Callable[[bool], None]) -> tuple[dict[str, Any], bytes]:
    """Instruments, validates, runs; the columns of the run, and its rows as an Arrow stream.

    Raises:
        WhammError, MemoryError, OSError: the stage of the recorder failed.
    """
    from ..run import execute
    from ..script import Instrumented

    name, script, limits = file_name(job.url), job.script, settings.limits
    assert script is not None
    header: dict[str, Any] = {"size": len(data)}
    program: bytes = data
    start = time.perf_counter()
    if script.name != BASELINE:
        recorder.begin("instrument")
        whole = whammc.Script(script.text, dict(script.define), name=f"{script.name}.whamm")
        try:
            made = whole.instrument(data, name=name, host="js", host_flushes=True, format="json", threads=1)
        except whammc.WhammError as error:
            if any(one.severity == "error" and one.file == name for one in error.diagnostics):
                recorder.begin("decode")  # the module is at fault, and not the script
            raise
        header.update(sites=sum(probe.sites for probe in made.probes), instrumented_size=len(made))
        program = made
    header["instrument_seconds"] = time.perf_counter() - start
    recorder.begin("validate")
    try:
        _refuse_foreign(data, program)
    except whammc.RunError:
        recorder.begin("load")
        raise
    recorder.begin("run")
    limit_output(True)
    try:
        result = execute(
            program, (name, data), args=[name, *job.input.args], stdin=job.input.stdin, env=dict(job.input.env),
            fuel=limits.fuel, timeout=limits.timeout, memory=limits.memory, parallel=False,
        )  # fmt: skip
    except whammc.RunError:
        if not _is_valid(program):  # the engine says so when it loads it: why ask it each time
            recorder.begin("decode" if script.name == BASELINE else "validate")
        else:
            recorder.begin("load")
        raise
    limit_output(False)
    recorder.begin("report")
    header.update(
        exit_code=result.exit_code, trap=result.trap.kind if result.trap else None, fuel=result.fuel,
        message=result.trap.message[:MESSAGE] if result.trap else None, load_seconds=result.load_seconds,
        run_seconds=result.seconds, cpu_seconds=result.cpu_seconds, stdout_size=len(result.stdout_bytes),
        stdout_sha256=hashlib.sha256(result.stdout_bytes).hexdigest(), stderr_size=len(result.stderr_bytes),
    )  # fmt: skip
    start, rows = time.perf_counter(), b""
    if isinstance(program, Instrumented) and result.report_bytes:
        report = result.report
        header["rows"] = 0
        if settings.rows != "none":
            table = _rows(report, job, settings.rows)
            header["rows"], rows = len(table), _stream(table)
    header["report_seconds"] = time.perf_counter() - start
    return header, rows
