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
RECORD = json.loads(ablation.RECORD.read_text("utf-8"))
SOURCE = ablation.KING.read_text("utf-8")


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
    assert "beyond_doubt = 50.0 + 0.5 * numbers[_MATCHES]" in SOURCE
    for n in (1, 10, 100, 10_000):
        summed = sum(1 / (50 + b / 2) for b in range(1, n + 1))
        assert summed <= 2 * math.log(1 + n / 100)


def test_the_page_has_a_place_for_the_test_table():
    assert PAGE.count("<!-- table: test -->\n") == 1
    assert PAGE.count(ablation.END) == 2


def test_the_weak_spots_are_named_with_their_numbers():
    king = RECORD["variants"][0]
    ratios = zip((each["world"] for each in RECORD["worlds"]), king["ratios"], strict=False)
    weak = {world.partition(":")[0]: ratio for world, ratio in ratios if ratio > 0.95}
    text = PAGE.partition("**Level with the best window")[2].partition("\n- **")[0]
    for family, ratio in weak.items():
        assert f"`{family}`" in text
        assert f"({ratio:.2f})" in text
    assert f"{max(king['quiet_costs']):.2f} sqrt(K T) at most" in PAGE
