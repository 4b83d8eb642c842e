"""Jobs, and the keys that identify them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

FORMAT = 1  # of the dataset: another one has other keys
BASELINE = "none"  # the pseudo-script for the uninstrumented program
MIB = 1 << 20


@dataclass(frozen=True)
class Input:
    """What a program gets.

    Attributes:
        name: names the input in the dataset.
        args: arguments, without the program's name.
        stdin: the bytes of its standard input.
        env: its environment.
    """

    name: str = ""
    args: tuple[str, ...] = ()
    stdin: bytes = b""
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Limits:
    """What a run may use. All of them hold for the process that the run has for itself, or for the program in it.

    Attributes:
        timeout: seconds that the program may run. Then it is ended, and its report has what was counted up to there.
        deadline: seconds for everything: compile, run, report. Then the process is killed.
        memory: bytes of memory for the process, and so for the program.
        output: bytes that the program may write to each of its standard streams.
        fuel: units of wasmtime's fuel, which makes programs slower; None: any number.
        module: bytes that a module may have.
    """

    timeout: float = 10.0
    deadline: float = 60.0
    memory: int = 2048 * MIB
    output: int = 64 * MIB
    fuel: Optional[int] = None
    module: int = 512 * MIB


@dataclass(frozen=True)
class Settings:
    """Everything about runs that is the same for all modules.

    Attributes:
        limits: what a run may use.
        rows: which rows of reports are kept: "all", "nonzero" (without numbers that are 0), "none".
        storage_options: for fsspec, of modules; keys, endpoints. Not part of keys.
        out_options: for fsspec, of the dataset. Not part of keys.
    """

    limits: Limits = field(default_factory=Limits)
    rows: str = "all"
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    out_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScriptText:
    """A script as it is sent to workers. `define` are its own constants only; text "": the baseline."""

    name: str
    text: str
    define: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Module:
    """A module where it was found.

    Attributes:
        url: for fsspec.
        version: changes when the file changes: its size, and its ETag or time.
        inputs: what it runs with.
        labels: what else the manifest says about it.
        problem: why it cannot be found; "" if it can.
    """

    url: str
    version: str
    inputs: tuple[Input, ...] = (Input(),)
    labels: tuple[tuple[str, str], ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Job:
    """One module to be examined (`script` None), or one run. `sha256` is "" if the module could not be read when it was examined."""

    key: str
    url: str
    version: str
    sha256: str
    script: Optional[ScriptText]
    input: Input
    labels: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def key_of(*parts: object) -> str:
    """32 hexadecimal digits that stand for everything that decides about a result."""
    return hashlib.sha256(json.dumps([FORMAT, *parts], sort_keys=True).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def versions() -> list[str]:
    """Of what makes results: whammc and wasmtime."""
    from importlib import metadata

    import whammc

    return [whammc.__version__, metadata.version("wasmtime")]


def file_name(url: str) -> str:
    """What a program is called that was found at a URL, and what messages call it."""
    return os.path.basename(url) or "program.wasm"


def examine_job(module: Module, made_by: Sequence[str]) -> Job:
    key = key_of("module", module.url, module.version, module.labels, list(made_by))
    return Job(key, module.url, module.version, "", None, Input(), module.labels, module.problem)


def run_job(module: Module, sha256: str, script: ScriptText, given: Input, settings: Settings, made_by: Sequence[str]) -> Job:
    """The key has the contents of the module, the script and the input, and not where they are: what was done once need not be done again."""
    what = [sha256 or ["unread", module.url, module.version], script.text, script.define, given.name, given.args]
    more = [hashlib.sha256(given.stdin).hexdigest(), given.env, dataclasses.asdict(settings.limits), settings.rows, list(made_by)]
    return Job(key_of("run", *what, *more), module.url, module.version, sha256, script, given, (), module.problem)
