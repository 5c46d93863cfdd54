"""The page about `king`: its numbers are those of the file, its claims those of the policy."""

import json
import math
import re

import pytest

from driftduel.policies.king import King
from research.benchmarks import ablation, few_votes, page_marks as marks, weak_spots as spots
from research.places import DOCS, PAGES, RECORDS, ROOT, SUITE

PAGE = (DOCS / "research" / "king.md").read_text("utf-8")


RECORD = json.loads(ablation.RECORD.read_text("utf-8"))
SOURCE = ablation.king_text()


def test_the_table_on_the_page_is_that_of_the_file():
    assert marks.on_page(PAGE, {ablation.TABLE: ablation.table(RECORD)}) == PAGE
    assert PAGE.count(marks.begin(ablation.TABLE)) == 1


def test_the_file_has_every_variant_and_every_world():
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    half = suite.read_split(SUITE / "development-1.toml")
    assert RECORD["weak"] == list(ablation.WEAK)
    changing, quiet = ablation.ordinary(half)
    assert [each["world"] for each in RECORD["worlds"]] == [*changing, *quiet]
    named = [(each["name"], each["words"]) for each in RECORD["variants"]]
    assert named[0][0] == "king"
    assert named[1:] == [(each.name, each.words) for each in ablation.VARIANTS]
    for each in RECORD["variants"]:
        assert len(each["ratios"]) == len(changing)
        assert len(each["quiet_costs"]) == len(each["quiet_alarms"]) == len(quiet)
        assert each["score"] == pytest.approx(
            math.exp(sum(map(math.log, each["ratios"])) / len(changing)), abs=1e-3
        )


@pytest.mark.parametrize("variant", ablation.VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_is_king_with_its_pieces_replaced(variant):
    for old, new in variant.pieces:
        assert SOURCE.count(old) == 1
        assert old != new
    source = variant.source(SOURCE)
    compile(source, variant.name, "exec")
    assert f'@POLICIES.register("{variant.policy}")' in source
    assert '"king"' not in source


def test_names_of_variants_differ():
    assert len({variant.name for variant in ablation.VARIANTS}) == len(ablation.VARIANTS)
    sources = {variant.source(SOURCE) for variant in ablation.VARIANTS}
    assert len(sources) == len(ablation.VARIANTS)


def test_a_piece_that_is_gone_ends_the_script():
    gone = ablation.Variant("gone", "words", (("no such text", ""),))
    with pytest.raises(SystemExit, match="0 times, not once"):
        gone.source(SOURCE)


def test_the_page_promises_what_the_policy_guarantees():
    bound, measured = King.guarantee.split("; ")
    formula, matches = bound.split(" in ")
    assert matches == "n matches"
    assert measured == "regret only measured"
    sentence = rf"In the first {matches} at most \*\*{re.escape(formula)}\*\* are expected"
    assert re.search(sentence, " ".join(PAGE.split()))
    assert "**Only measured: the regret.**" in PAGE
    # The argument on the page, in numbers: Ville's inequality at 4 E + b / 2, summed up.
    assert "return needed, 4.0 * easy + 0.5 * numbers.matches" in SOURCE
    assert "easy = max(_EASY, 0.5 * numbers.here)" in SOURCE
    assert "_EASY = 12.5\n" in SOURCE
    for n in (1, 10, 100, 10_000):
        summed = sum(1 / (4 * 12.5 + b / 2) for b in range(1, n + 1))
        assert summed <= 2 * math.log(1 + n / 100)


def the_score():
    """Read what the test half gave."""
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    (record,) = json.loads((RECORDS / "champion.json").read_text("utf-8"))
    return suite, suite.read_score(record)


def test_the_table_of_the_test_half_is_that_of_the_suite():
    suite, found = the_score()
    assert PAGE.count(marks.begin("test")) == 1
    shown = PAGE.partition(marks.begin("test"))[2].partition(marks.END)[0]
    assert shown.strip() == suite.as_markdown(found)
    half = suite.read_split("test")
    for kind in ("changing", "quiet"):
        assert [each.world for each in getattr(found, kind)] == list(getattr(half, kind))
        assert all(each.runs >= half.runs for each in getattr(found, kind))


def test_the_text_says_what_the_table_says():
    _, found = the_score()
    assert f"## The test: {found.geometric_mean:.2f}\n" in PAGE
    text = PAGE.partition("## The test:")[2].partition("<!-- table: test -->")[0]
    text = " ".join(text.split())
    assert f"On {len(found.changing)} changing worlds" in text
    below = sum(each.high < 1 for each in found.changing)
    assert f"below that window by more than its interval in {below} of them" in text
    above = [each.world for each in found.changing if each.low > 1]
    assert f"above 1 by more than its interval in {len(above)}" in text
    for world in above:
        assert world.replace(",", ", ") in text
    nearest = min(each.rival_ratio for each in found.changing)
    assert f"at least {nearest:.1f} times" in text
    assert min(each.rival_low for each in found.changing) > 1
    assert f"{max(each.cost for each in found.quiet):+.2f} sqrt(K T)" in text


def test_the_summary_repeats_the_tables():
    _, found = the_score()
    summary = PAGE.partition("**Answer.**")[0]
    assert f"| {found.geometric_mean:.2f} (" in summary
    assert f"at least {min(each.rival_ratio for each in found.changing):.1f} times" in summary
    assert f"at most {max(each.cost for each in found.quiet):+.2f} sqrt(K T)" in summary
    assert "at most 2 log(1 + n / 100) on average" in summary
    assert " | 97.7%, 94 |" in summary
    assert "**97.7%, 94**" in PAGE.partition("<!-- table: panel -->")[2]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guide/which-policy.md"])
def test_other_pages_say_in_how_many_worlds_a_window_is_better(page):
    _, found = the_score()
    above = sum(each.low > 1 for each in found.changing)
    text = " ".join((ROOT / page).read_text("utf-8").split())
    assert f"in {above} of {len(found.changing)} test worlds" in text
    assert "at default settings" in text


def test_the_guide_repeats_the_votes_relative_to_ttts():
    table = few_votes.table(json.loads(few_votes.RECORD.read_text("utf-8")))
    ratios = re.search(r"([\d.]+ to [\d.]+) times the votes of `ttts`", table)[1]
    guide = (DOCS / "guide" / "which-policy.md").read_text("utf-8")
    assert f"`king` needs {ratios} times its votes" in " ".join(guide.split())


def test_the_table_of_the_first_edition_is_that_of_its_suite():
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    (record,) = json.loads((RECORDS / "champion-1.json").read_text("utf-8"))
    first = (PAGES / "champion-1.md").read_text("utf-8")
    shown = first.partition(marks.begin("test-1"))[2].partition(marks.END)[0]
    found = suite.read_score(record)
    assert shown.strip() == suite.as_markdown(found)
    half = suite.read_split(SUITE / "test-1.toml")
    assert [each.world for each in found.changing] == list(half.changing)
    assert f"## The test: {found.geometric_mean:.2f}\n" in first


def test_the_table_of_weak_spots_is_that_of_the_file():
    record = json.loads(spots.RECORD.read_text("utf-8"))
    assert marks.on_page(PAGE, {spots.TABLE: spots.table(record)}) == PAGE
    assert [row["world"] for row in record["rows"]] == [row.world for row in spots.ROWS]


def test_the_page_states_when_not_to_use_king():
    text = PAGE.partition("## When not to use king")[2].partition("\n## ")[0]
    rows = {row["trouble"]: row for row in json.loads(spots.RECORD.read_text("utf-8"))["rows"]}
    still = [row["king"][0] for trouble, row in rows.items() if trouble.startswith("nothing")]
    assert f"{min(still):.1f} to {max(still):.1f} times" in text
