"""The page about `king`: its numbers are those of the file, its claims those of the policy."""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import pytest

from driftduel.policies.king import King

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "champion.md").read_text("utf-8")


def _load_script():
    path = ROOT / "benchmarks" / "ablation.py"
    spec = importlib.util.spec_from_file_location("benchmarks_ablation", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ablation = _load_script()
TEST_TABLE = "<!-- table: test -->\n"
RECORD = json.loads(ablation.RECORD.read_text("utf-8"))
SOURCE = ablation.king_text()


def test_the_table_on_the_page_is_that_of_the_file():
    assert ablation.on_page(PAGE, ablation.table(RECORD)) == PAGE
    assert PAGE.count(ablation.BEGIN) == 1


def test_the_file_has_every_variant_and_every_world():
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    half = suite.read_half("development")
    assert [each["world"] for each in RECORD["worlds"]] == [*half.changing, *half.quiet]
    named = [(each["name"], each["words"]) for each in RECORD["variants"]]
    assert named[0][0] == "king"
    assert named[1:] == [(each.name, each.words) for each in ablation.VARIANTS]
    for each in RECORD["variants"]:
        assert len(each["ratios"]) == len(half.changing)
        assert len(each["quiet_costs"]) == len(each["quiet_alarms"]) == len(half.quiet)
        assert each["score"] == pytest.approx(
            math.exp(sum(map(math.log, each["ratios"])) / len(half.changing)), abs=1e-3
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
    assert re.search(sentence, PAGE)
    assert "**Only measured: the regret.**" in PAGE
    # The argument on the page, in numbers: Ville's inequality at 50 + b / 2, summed up.
    assert "return needed, 50.0 + 0.5 * numbers.matches" in SOURCE
    for n in (1, 10, 100, 10_000):
        summed = sum(1 / (50 + b / 2) for b in range(1, n + 1))
        assert summed <= 2 * math.log(1 + n / 100)


def test_the_table_of_the_test_half_is_that_of_the_suite():
    """`driftduel suite --half test --json` wrote the file; the page has what it prints."""
    suite = pytest.importorskip("driftduel.suite", exc_type=ImportError)
    (record,) = json.loads((ROOT / "docs" / "champion.json").read_text("utf-8"))
    found = suite.read_score(record)
    assert PAGE.count(TEST_TABLE) == 1
    shown = PAGE.partition(TEST_TABLE)[2].partition(ablation.END)[0]
    assert shown.strip() == suite.as_markdown(found)
    half = suite.read_half("test")
    assert [each.world for each in found.changing] == list(half.changing)
    assert [each.world for each in found.quiet] == list(half.quiet)
    assert all(each.runs >= half.runs for each in (*found.changing, *found.quiet))
    # What the text makes of it.
    assert f"## The test: {found.geometric_mean:.2f}\n" in PAGE
    level = [each.world for each in found.changing if each.high >= 1]
    assert [world.partition(":")[0] for world in level] == ["seasonal"]
    assert min(each.rival_ratio for each in found.changing) >= 2.5
    assert len(half.rivals) == 9
    assert len(half.changing) == 13


def test_the_goals_of_the_champion_are_met():
    """A score of 0.8 or less, no world above 1.2, no more than 0.3 sqrt(K T) where all is quiet."""
    (record,) = json.loads((ROOT / "docs" / "champion.json").read_text("utf-8"))
    assert record["geometric_mean"] <= 0.8
    assert record["worst"] <= 1.2
    assert record["worst_cost"] <= 0.3
    assert all(each["rival_low"] > 1 for each in record["changing"])


def test_the_weak_spots_are_named_with_their_numbers():
    king = RECORD["variants"][0]
    ratios = zip((each["world"] for each in RECORD["worlds"]), king["ratios"], strict=False)
    weak = {world.partition(":")[0]: ratio for world, ratio in ratios if ratio > 0.95}
    text = PAGE.partition("**Level with the best window")[2].partition("\n- **")[0]
    for family, ratio in weak.items():
        assert f"`{family}`" in text
        assert f"({ratio:.2f})" in text
    assert f"{max(king['quiet_costs']):.2f} sqrt(K T) at most" in PAGE
