"""Tables on the pages of the documentation: a script writes the text between two marks.

A table begins after `<!-- table: NAME -->` and ends before `<!-- /table -->`.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftduel._internal.defaults import MODE
from research.places import page_name

END = "<!-- /table -->"


def begin(name: str) -> str:
    """Return the mark above a table."""
    return f"<!-- table: {name} -->\n"


def on_page(page: str, tables: dict[str, str]) -> str:
    """Return a page with each table between its marks."""
    for name, rows in tables.items():
        before, mark, rest = page.partition(begin(name))
        _, end, after = rest.partition(END)
        if not (mark and end):
            raise SystemExit(f"the page has no {begin(name).strip()} ... {END}.")
        page = f"{before}{mark}{rows}{end}{after}"
    return page


def measure_and_write(
    words: str,
    measure: Callable[..., dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
    record: Path,
    page: Path,
    name: str,
    *,
    command: str,
    policies: Sequence[str] = (),
    worlds: Sequence[str] = (),
    code: Sequence[str] = (),
    mode: str = MODE,
    sizes: Mapping[str, tuple[int, str]] | None = None,
) -> None:
    """Measure into a record, unless only the page is to be written again; print and write a table.

    Parameters
    ----------
    words
        The description of the script for its `--help`.
    measure, table
        They return the numbers, and write them as a table in Markdown; `measure` is called with the
        values of the options `sizes`.
    record, page, name
        The file of the numbers, the page, and the table's name on it.
    command, policies, worlds, code, mode
        For the record's stamp: the command that plays it again, and the played specs and modules.
    sizes
        Options of the script by name: their defaults and help.
    """
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--page", action="store_true", help="only write the page again")
    for key, (default, text) in (sizes or {}).items():
        help_text = f"{text} ({default})"
        parser.add_argument(f"--{key}", type=int, default=default, metavar="N", help=help_text)
    options = vars(parser.parse_args())
    if not options["page"]:
        from research.stamps import played

        with played(
            record, pages=[page_name(page)], command=command, policies=policies, worlds=worlds,
            code=code, mode=mode,
        ):  # fmt: skip
            found = measure(*(options[key] for key in sizes or {}))
            record.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    rows = table(json.loads(record.read_text("utf-8")))
    print(rows, end="")
    page.write_text(on_page(page.read_text("utf-8"), {name: rows}), "utf-8")
