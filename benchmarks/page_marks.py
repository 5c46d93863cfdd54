"""Tables on the pages of the documentation: what stands between two marks is written by a script.

A table begins after `<!-- table: NAME -->` and ends before `<!-- /table -->`.
"""

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
