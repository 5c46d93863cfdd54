"""Records behind pages: each has a stamp, and a page with a stale one has a warning at its top."""

import json
import re
from types import SimpleNamespace

import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")

from driftduel import __version__
from driftduel.errors import DriftduelError
from research.benchmarks import stale
from research.places import DOCS, PAGES, RECORDS, ROOT
from research.stamps import Part, adopt, header, played, read_stamp, read_stamps, stamp
from tests.scripts import load_script

STAMPS = read_stamps(RECORDS)

generate = load_script("docs/generate.py")


@pytest.mark.parametrize("path", stale.records(), ids=lambda path: path.name)
def test_every_record_has_a_stamp_that_fits(path):
    found = read_stamp(RECORDS, path)
    command = f"python -m research.benchmarks.stale adopt {path} --page PAGE.md"
    assert found is not None, f"{path.name} has no stamp: stamp it in its script, or {command}"
    assert found.fits(RECORDS), f"{path.name} differs from its stamp: run its script, or {command}"
    for page in found.pages:
        assert (ROOT / page).is_file()


def test_every_stamp_has_a_record():
    assert {each.record for each in STAMPS} == {path.name for path in stale.records()}


def built(page):
    """Return a page, such as "docs/guide/logs.md", as the site shows it."""
    text = (ROOT / page).read_text("utf-8")
    page = page.removeprefix("docs/")
    return generate.on_page_markdown(text, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))


SHOWN = sorted({page for each in STAMPS for page in each.pages if page.startswith("docs/")})


@pytest.mark.parametrize("page", SHOWN)
def test_a_page_with_a_stale_record_says_what_it_was_played_with(page):
    """A change of a policy needs no edit: the header is computed when the site is built."""
    top = built(page).partition("\n## ")[0]
    parts = [part for each in STAMPS if page in each.pages for part in each.stale().values()]
    assert ("!!! warning" in top and "of an earlier version" in top) == bool(parts)
    for part in parts:
        assert f"with driftduel {part.version}" in top
        assert part.commit is None or f"commit {part.commit}" in top


def test_a_page_without_records_is_as_it_is_written():
    text = (DOCS / "guide" / "tutorial.md").read_text("utf-8")
    assert built("docs/guide/tutorial.md") == generate.filled(text)


def test_the_study_does_not_promise_the_numbers_of_other_versions():
    """Section 7 was played with the first edition of king, and its page promised those numbers."""
    study = next(each for each in STAMPS if each.record == "study.json")
    text = (PAGES / "study.md").read_text("utf-8")
    assert "The same command gives the same numbers" not in text
    if (part := study.parts["section 7"]).code is None:
        assert (
            f"driftduel {part.version}, commit {part.commit}"
            in built("docs/research/study.md").partition("## ")[0]
        )


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "numbers.json"
    path.write_text("{}")
    return path


def make(record, **more):
    policies = ("rucb", "sw-dts:window=5")
    worlds = ("two-arm:rounds=10",)
    given = {"pages": ["page.md"], "command": "make it", "policies": policies, "worlds": worlds}
    return stamp(record, **{**given, **more})


def test_a_record_that_was_just_played_is_current(record):
    with played(
        record, pages=["page.md"], command="make it", policies=["rucb"], worlds=["two-arm"]
    ):
        record.write_text('{"a": 1}')
    (found,) = read_stamps(record.parent)
    assert found.fits(record.parent)
    assert found.stale() == {}
    assert header([found], "page.md") == ""
    part = found.parts["all"]
    assert part.version == __version__
    assert set(part.code) == {"policy rucb", "world two-arm"}
    assert part.seconds is not None
    record.write_text('{"a": 2}')
    assert not found.fits(record.parent)


def edited(record, what, code):
    """Let a stamp have been made by other code."""
    path = record.parent / "played" / "numbers.json"
    text = json.loads(path.read_text("utf-8"))
    text["parts"]["all"]["code"][what] = code
    path.write_text(json.dumps(text))
    return read_stamp(record.parent, record)


def test_a_record_of_other_code_is_stale_and_its_page_says_so(record):
    make(record, seconds=300)
    found = edited(record, "policy rucb", "0123")
    assert list(found.stale()) == ["all"]
    assert found.parts["all"].changed() == ["policy rucb"]
    said = header([found], "page.md")
    assert said.startswith('!!! warning "Numbers on this page are of an earlier version"\n')
    assert f"with driftduel {__version__}; since then the code of `rucb` has changed." in said
    assert header([found], "other.md") == ""
    assert generate.with_header("# Title\n\nText\n", said).startswith("# Title\n\n!!! warning")
    listed = stale.listed([found])
    assert "make it  (5 min of CPU)" in listed
    assert "1 stale; the recorded times add up to 5 min." in listed


def test_a_policy_that_is_gone_is_another(record):
    make(record)
    path = record.parent / "played" / "numbers.json"
    path.write_text(path.read_text("utf-8").replace("policy rucb", "policy gone"))
    assert read_stamp(record.parent, record).parts["all"].changed() == ["policy gone"]


def test_parts_are_stamped_one_by_one(record):
    make(record, part="one")
    make(record, part="two", unknown=True)
    found = make(record, part="three", mode="panel", policies=["king"])
    assert list(found.stale()) == ["two"]
    assert (
        found.parts["three"].code["policy king"]
        != make(record, policies=["king"]).parts["all"].code["policy king"]
    )
    (line,) = found.lines()
    assert re.match(r"`numbers.json` \(two\): played on .* may have changed since\.$", line)


def test_a_record_without_a_stamp_is_adopted_by_its_last_commit():
    assert Part("make it", "0.1.0", "abc", "2026-11-16").is_current is False
    with pytest.raises(DriftduelError, match="is not in a commit"):
        adopt(RECORDS / "no-such.json", pages=["a.md"], command="make it")


def test_what_is_not_a_stamp_is_refused(record):
    make(record)
    (record.parent / "played" / "numbers.json").write_text('{"parts": {"all": {}}}')
    with pytest.raises(DriftduelError, match="is not a stamp of a record"):
        read_stamps(record.parent)
