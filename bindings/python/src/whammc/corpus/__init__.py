"""Thousands of programs: instruments and runs every module of a corpus with every script, and keeps what they report as Parquet.

    python -m whammc.corpus run hotness branches --modules 'modules/**/*.wasm' --out results/
    python -m whammc.corpus report results/

In Python:

    from whammc import corpus
    corpus.run(["hotness"], "modules/**/*.wasm", "results/")
    corpus.connect("results/").sql("SELECT status, count(*) FROM runs GROUP BY status")

The parts:
    manifest.py    the modules, and the inputs that they run with
    jobs.py        jobs, and the keys that identify them
    examine.py     examines a module: its features, its language, its imports
    stages.py      one run, stage by stage, in a process of its own
    sandbox.py     that process and its limits; nursery.py is the process that forks it
    dataset.py     the files: writing, reading, repairing, merging
    worker.py      the code of a Dask worker
    schedule.py    the client: sends batches, repeats lost ones, shows progress
    summary.py     the summary, as text
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .jobs import Input, Limits, Settings

if TYPE_CHECKING:
    from .dataset import connect
    from .schedule import Outcome, run
    from .summary import report

__all__ = ["Input", "Limits", "Outcome", "Settings", "connect", "report", "run"]

_PLACES = {"connect": "dataset", "Outcome": "schedule", "run": "schedule", "report": "summary"}


def __getattr__(name: str) -> Any:
    # Dask and pyarrow are loaded by who uses them: the processes in which programs run do not.
    if name in _PLACES:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
