"""Lists of rows that convert to data frames and display in notebooks."""

from __future__ import annotations

import html
from dataclasses import fields
from typing import Any, ClassVar, Iterable, Mapping, Optional, TypeVar

from . import _arrow

__all__ = ["Row", "Table"]


class Row:
    """The schema of a Table: its columns and their Arrow types."""

    COLUMNS: ClassVar[Mapping[str, str]] = {}
    #: The column that has a bar in notebooks.
    BAR: ClassVar[Optional[str]] = None


T = TypeVar("T", bound=Row)

SHOWN = 20  # rows in a notebook
STYLE = (
    "<style>.whammc td,.whammc th{text-align:left;padding:1px 8px;white-space:nowrap}.whammc .n{text-align:right;"
    "font-variant-numeric:tabular-nums}.whammc .b{display:inline-block;height:0.8em;background:#e4853a;border-radius:1px}"
    ".whammc caption{text-align:left;font-weight:bold;caption-side:top}.whammc{margin-bottom:0.8em}</style>"
)


def cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<td>{html.escape('' if value is None else str(value))}</td>"
    return f'<td class="n">{value:,}</td>' if isinstance(value, int) else f'<td class="n">{value:,.6g}</td>'


def bar(value: Any, most: Any) -> str:
    share = value / most if most and value > 0 else 0
    return f'<td><span class="b" style="width:{120 * share:.1f}px"></span></td>'


def html_table(caption: str, names: list[str], rows: list[list[Any]], bars: Optional[int], note: str = "") -> str:
    """A table of HTML; `bars` is the number of a column with numbers that get bars."""
    numbers = [row[bars] for row in rows if isinstance(row[bars], (int, float))] if bars is not None else []
    most = max(numbers, default=0)
    head = "".join(f"<th>{html.escape(name)}</th>" + ("<th></th>" if k == bars else "") for k, name in enumerate(names))
    lines = []
    for row in rows:
        cells = []
        for k, value in enumerate(row):
            cells.append(cell(value))
            if k == bars:
                cells.append(bar(value, most) if isinstance(value, (int, float)) else "<td></td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    foot = f'<tr><td colspan="{len(names) + 1}">{html.escape(note)}</td></tr>' if note else ""
    return (
        f'<table class="whammc"><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}{foot}</tbody></table>"
    )


def to_pandas(table: Any) -> Any:
    """A pandas.DataFrame in which integers keep their types even if some are missing."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this needs pandas: pip install 'whammc[pandas]'") from error
    pa = _arrow.pyarrow()
    kinds = {getattr(pa, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in
             "UInt8 UInt16 UInt32 UInt64 Int8 Int16 Int32 Int64".split()}  # fmt: skip
    kinds[pa.bool_()] = pandas.BooleanDtype()
    return table.to_pandas(types_mapper=kinds.get)


def to_polars(table: Any) -> Any:
    """A polars.DataFrame."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("this needs polars: pip install 'whammc[polars]'") from error
    return polars.from_arrow(table)


class Table(list[T]):
    """A list of rows, all of one kind."""

    def __init__(self, kind: type[T], rows: Iterable[T] = ()) -> None:
        super().__init__(rows)
        self._kind = kind

    def to_arrow(self) -> Any:
        """A pyarrow.Table; strings are dictionary-encoded."""
        pa = _arrow.pyarrow()
        columns = {}
        for name, kind in self._kind.COLUMNS.items():
            data = [getattr(row, name) for row in self]
            made = pa.array(data, getattr(pa, kind)())
            columns[name] = made.dictionary_encode() if kind == "string" else made
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        return to_polars(self.to_arrow())

    def _repr_html_(self) -> str:
        names = list(self._kind.COLUMNS) or [field.name for field in fields(self._kind)]  # type: ignore[arg-type]
        rows = [[getattr(row, name) for name in names] for row in self[:SHOWN]]
        more = len(self) - len(rows)
        bars = names.index(self._kind.BAR) if self._kind.BAR else None
        return STYLE + html_table("", names, rows, bars, f"and {more:,} more rows" if more else "")
