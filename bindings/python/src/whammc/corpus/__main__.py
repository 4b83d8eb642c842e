"""The command line: python -m whammc.corpus run | report."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import Any, Optional, Sequence

from .jobs import MIB, Input, Limits, Settings

UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
NEEDED = "python -m whammc.corpus needs more packages: pip install 'whammc[corpus]'"
EPILOGUE = """exit status: 0 if all runs are in the dataset, whatever came of them; 1 if results could not be written, or
workers were missing; 2 for a mistake in scripts, patterns or options; 130 after an interrupt. The same command goes on
where it stopped."""


def _size(text: str) -> int:
    """A number of bytes: 64M, 2G."""
    factor = UNITS.get(text[-1:].lower(), 1)
    try:
        number = int(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a size such as 512M or 2G, found {text!r}") from None
    if number <= 0:
        raise argparse.ArgumentTypeError(f"expected a size above 0, found {text!r}")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text!r}")
    return number


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return int(text)


def _options(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"expected an object in JSON, found {text!r}")
    return found


def _input(text: str) -> Input:
    try:
        return Input(text, tuple(shlex.split(text)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}: {text!r}") from None


def _define(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    return name, value


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    made = argparse.ArgumentParser(prog="python -m whammc.corpus", description="Instruments and runs many programs with many scripts.")
    commands = made.add_subparsers(dest="command", required=True)
    limits = Limits()
    run = commands.add_parser("run", help="run modules with scripts, and add the results to a dataset", epilog=EPILOGUE,
                              formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    run.add_argument("scripts", nargs="+", metavar="SCRIPT", help="a file, a bundled script, or 'none': the programs as they are")
    run.add_argument("--modules", nargs="+", required=True, metavar="URL", help="patterns ('DIR/**/*.wasm'), folders, files or manifests (.csv)")
    run.add_argument("--out", required=True, metavar="URL", help="the dataset; what is in it already is not done again")
    run.add_argument("--input", action="append", default=[], type=_input, metavar="ARGS", help="arguments to run modules with; more than once: several runs")
    run.add_argument("-D", "--define", action="append", default=[], type=_define, metavar="NAME=VALUE", help="another value of a script's constant")
    run.add_argument("--rows", choices=("all", "nonzero", "none"), default="all", help="which rows of reports are kept (all)")
    run.add_argument("--again", action="append", default=[], metavar="WHAT", help="do runs again whose stage or failure is WHAT (time, crash …), or 'all'")
    run.add_argument("--scheduler", metavar="ADDRESS", help="a scheduler of Dask, tcp://HOST:PORT; else workers are started on this machine")
    run.add_argument("--workers", type=_count, metavar="N", help="how many of those (one for each processor)")
    run.add_argument("--timeout", type=_seconds, default=limits.timeout, metavar="S", help=f"end a program after S seconds ({limits.timeout:g})")
    run.add_argument("--deadline", type=_seconds, default=limits.deadline, metavar="S", help=f"kill a run after S seconds ({limits.deadline:g})")
    run.add_argument("--memory", type=_size, default=limits.memory, metavar="SIZE", help=f"memory for a run ({limits.memory // MIB}M)")
    run.add_argument("--output", type=_size, default=limits.output, metavar="SIZE", help=f"what a program may print ({limits.output // MIB}M)")
    run.add_argument("--fuel", type=_count, metavar="N", help="end a program after N units of wasmtime's fuel")
    run.add_argument("--module-size", type=_size, default=limits.module, metavar="SIZE", help=f"the largest modules ({limits.module // MIB}M)")
    run.add_argument("--storage-options", type=_options, default={}, metavar="JSON", help="for fsspec, of modules and dataset: endpoints, keys")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress")
    report = commands.add_parser("report", help="summarise a dataset")
    report.add_argument("out", metavar="URL", help="the dataset")
    report.add_argument("--storage-options", type=_options, default={}, metavar="JSON", help="for fsspec")
    return made


def _run(options: argparse.Namespace) -> int:
    from . import schedule, summary

    limits = Limits(options.timeout, options.deadline, options.memory, options.output, options.fuel, options.module_size)
    settings = Settings(limits, options.rows, options.storage_options, options.storage_options)
    try:
        outcome = schedule.run(
            options.scripts, options.modules, options.out, inputs=options.input, settings=settings, define=dict(options.define),
            scheduler=options.scheduler, workers=options.workers, again=options.again, say=None if options.quiet else sys.stderr,
        )  # fmt: skip
    except schedule.CorpusError as error:
        print(f"{error}\nThe same command goes on where it stopped.", file=sys.stderr)
        return 1
    if not options.quiet:
        print(f"{outcome.done:,} of {outcome.runs:,} runs were new; {outcome.seconds:,.1f} s", file=sys.stderr)
        print(summary.report(options.out, options.storage_options))
    return 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Carries out a command line; its exit status."""
    options = parser().parse_args(arguments)
    try:
        import dask  # noqa: F401
        import distributed  # noqa: F401
        import fsspec  # noqa: F401
        import pyarrow  # noqa: F401
        import wasmtime  # noqa: F401
    except ImportError as error:
        print(f"{NEEDED} ({error})", file=sys.stderr)
        return 2
    import whammc

    from . import summary

    try:
        if options.command == "report":
            print(summary.report(options.out, options.storage_options))
            return 0
        return _run(options)
    except (whammc.WhammError, ValueError, OSError, ImportError) as error:
        print(error if isinstance(error, whammc.WhammError) else f"whammc.corpus: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: the same command goes on where it stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
