"""The modules, and the inputs that they run with."""

from __future__ import annotations

import csv
import io
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterable, Mapping, Optional, Sequence

from .jobs import Input, Module

THREADS = 32  # that ask for files of a manifest
COLUMNS = ("module", "input", "args", "stdin", "env")  # that manifests give a meaning to


class ManifestError(ValueError):
    """A pattern or a manifest is not as it should be."""


def filesystem(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """The filesystem of fsspec for a URL, and the path in it."""
    import fsspec

    fs, path = fsspec.core.url_to_fs(url, **options)
    return fs, str(path)


def version_of(info: Mapping[str, Any]) -> str:
    """What changes when a file does, from what its filesystem says about it."""
    mark = next((info[name] for name in ("ETag", "etag", "mtime", "LastModified", "created") if info.get(name) is not None), "")
    return f"{info.get('size')}-{str(mark).strip(chr(34))}"


def _read(url: str, options: Mapping[str, Any]) -> bytes:
    fs, path = filesystem(url, options)
    data: bytes = fs.cat_file(path)
    return data


def _found(pattern: str, inputs: tuple[Input, ...], options: Mapping[str, Any]) -> list[Module]:
    """The modules that a pattern, a folder or a single file stands for."""
    fs, path = filesystem(pattern, options)
    if not any(character in path for character in "*?["):
        if not fs.isdir(path):
            return [_single(pattern, inputs, (), options)]
        path = path.rstrip("/") + "/**/*.wasm"
    found = fs.glob(path, detail=True)
    return [
        Module(fs.unstrip_protocol(name) if "://" in pattern else name, version_of(info), inputs)
        for name, info in sorted(found.items())
        if info.get("type") == "file"
    ]


def _single(url: str, inputs: tuple[Input, ...], labels: tuple[tuple[str, str], ...], options: Mapping[str, Any]) -> Module:
    try:
        fs, path = filesystem(url, options)
        return Module(fs.unstrip_protocol(path) if "://" in url else path, version_of(fs.info(path)), inputs, labels)
    except (OSError, ValueError, ImportError) as error:
        return Module(url, "", inputs, labels, f"{type(error).__name__}: {error}")


def _beside(url: str, manifest: str) -> str:
    """A URL of a manifest: absolute, or relative to it."""
    if "://" in url or os.path.isabs(url):
        return url
    folder = manifest.rpartition("/")[0]
    return f"{folder}/{url}" if folder else url


def _row(row: Mapping[str, Optional[str]], line: int, url: str, options: Mapping[str, Any]) -> tuple[str, Input, tuple[tuple[str, str], ...]]:
    if None in row or not row.get("module"):
        raise ManifestError(f"{url}:{line}: expected a module and as many fields as the first line has")
    try:
        args = tuple(shlex.split(row.get("args") or ""))
        env = tuple(sorted((name, value) for name, _, value in (one.partition("=") for one in shlex.split(row.get("env") or ""))))
    except ValueError as error:
        raise ManifestError(f"{url}:{line}: {error} in {row.get('args') or row.get('env')!r}") from None
    stdin = b""
    if row.get("stdin"):
        try:
            stdin = _read(_beside(str(row["stdin"]), url), options)
        except OSError as error:
            raise ManifestError(f"{url}:{line}: cannot read the standard input: {error}") from None
    labels = tuple((name, value) for name, value in row.items() if name not in COLUMNS and value)
    return _beside(str(row["module"]), url), Input(row.get("input") or row.get("args") or "", args, stdin, env), labels


def _listed(url: str, inputs: tuple[Input, ...], options: Mapping[str, Any]) -> list[Module]:
    """The modules of a manifest: rows of one module are its inputs."""
    try:
        text = _read(url, options).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{url}: a manifest is CSV in UTF-8: {error}") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if "module" not in (reader.fieldnames or ()):
        raise ManifestError(f"{url}:1: expected a column 'module', found {', '.join(reader.fieldnames or ()) or 'an empty file'}")
    given: dict[str, list[Input]] = {}
    labels: dict[str, dict[str, str]] = {}
    has_inputs = any(name in (reader.fieldnames or ()) for name in COLUMNS[1:])
    for row in reader:
        module, one, more = _row(row, reader.line_num, url, options)
        given.setdefault(module, []).append(one)
        labels.setdefault(module, {}).update(more)
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(
            lambda module: _single(
                module, tuple(dict.fromkeys(given[module])) if has_inputs else inputs, tuple(sorted(labels[module].items())), options
            ),
            given,
        ))  # fmt: skip


def find(sources: Iterable[str], inputs: Sequence[Input] = (), options: Mapping[str, Any] = {}) -> list[Module]:
    """The modules that patterns, folders, files and manifests (*.csv) stand for, each once, in the order of their URLs.

    Args:
        inputs: what modules run with, but those of manifests that have inputs of their own.
        options: for fsspec.

    Raises:
        ManifestError: a manifest is not right, or nothing is found.
        OSError: a manifest cannot be read.
    """
    found: dict[str, Module] = {}
    default = tuple(inputs) or (Input(),)
    for source in sources:
        some = _listed(source, default, options) if source.endswith(".csv") else _found(source, default, options)
        if not some:
            raise ManifestError(f"{source}: no modules there")
        for module in some:
            found.setdefault(module.url, module)
    return [found[url] for url in sorted(found)]
