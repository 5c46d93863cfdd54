"""What a release says of itself in several places is the same."""

import re
from pathlib import Path

import pytest

import driftduel

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_version_is_the_newest_of_the_changelog_and_that_to_cite():
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", read("CHANGELOG.md"), re.MULTILINE)
    cited = re.search(r"version = \{(.+)\}", read("README.md"))
    assert newest[1] == cited[1] == driftduel.__version__


def read(name):
    return (ROOT / name).read_text("utf-8")


def test_contributing_names_files_and_targets_that_exist():
    for place in re.findall(r"`((?:src|docs|tests)/[\w./-]+)`|\]\(([\w./-]+)\)", CONTRIBUTING):
        assert (ROOT / "".join(place)).exists(), place
    for target in re.findall(r"`make ([a-z-]+)", CONTRIBUTING):
        assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), target


def test_the_guide_names_places_and_names_that_are_there():
    table = [line for line in CONTRIBUTING.splitlines() if line.startswith("| a ")]
    assert len(table) == 7
    for row in table:
        named = re.findall(r"`([^`]+)`", row)
        paths = [name for name in named if "/" in name or name.endswith(".py")]
        places = [
            next(
                (place for place in (ROOT / name, ROOT / "src/driftduel" / name) if place.exists()),
                name,
            )
            for name in paths
        ]
        assert not [place for place in places if isinstance(place, str)]
        text = "".join(place.read_text("utf-8") for place in places if place.is_file())
        for name in named:
            if re.fullmatch(r"[A-Z_]{4,}|[a-z]+_[a-z]+|_one|Standing", name):
                assert re.search(rf"(?m)^(def |class )?{name}\b", text), name


@pytest.mark.parametrize(("page", "words"), [("CONTRIBUTING.md", 900), ("CHANGELOG.md", 1250)])
def test_a_page_stays_a_page(page, words):
    assert len(read(page).split()) < words
