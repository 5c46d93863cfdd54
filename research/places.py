"""Folders of the checkout that research code reads and writes."""

from pathlib import Path

__all__ = ["DOCS", "PAGES", "RECORDS", "ROOT", "SUITE", "page_name"]

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
"""The site: guide, reference, research notes."""
PAGES = ROOT / "research" / "pages"
"""Pages with all results, which are too long for the site."""
RECORDS = ROOT / "research" / "records"
"""Measured numbers behind the pages, and in ``played`` their stamps."""
SUITE = ROOT / "research" / "suite"
"""The splits of the first edition of the suite."""


def page_name(page: Path) -> str:
    """Return the path of a page as stamps have it: relative to the root of the checkout."""
    return page.resolve().relative_to(ROOT).as_posix()
