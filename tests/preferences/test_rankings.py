"""Files of rankings are counted like a slow reference, and broken ones give one sentence."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from driftduel import cli, make_world, play
from driftduel.errors import DriftduelError
from driftduel.preferences import PairCounts, read_preflib, read_rankings
from driftduel.specs import path_as_spec

HEADER = """# FILE NAME: 00002-00000001.{kind}
# TITLE: A small election
# DESCRIPTION:
# DATA TYPE: {kind}
# MODIFICATION TYPE: original
# RELATES TO:
# RELATED FILES:
# PUBLICATION DATE: 2013-08-17
# MODIFICATION DATE: 2022-09-16
# NUMBER ALTERNATIVES: {arms}
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: {orders}
"""


def group_as_text(group):
    numbers = ",".join(str(option + 1) for option in group)
    return numbers if len(group) == 1 else f"{{{numbers}}}"


def write(folder, kind, rankings, names, old=False):
    """Write (count, groups) in the format of PrefLib, that of before 2022 or the one since."""
    voters, arms = sum(count for count, _ in rankings), len(names)
    orders = [(count, ",".join(map(group_as_text, groups))) for count, groups in rankings]
    if old:
        head = f"{arms}\n" + "".join(f"{i},{name}\n" for i, name in enumerate(names, start=1))
        text = head + f"{voters},{voters},{len(orders)}\n"
        text += "".join(f"{count},{order}\n" for count, order in orders)
    else:
        text = HEADER.format(kind=kind, arms=arms, voters=voters, orders=len(orders))
        text += "".join(f"# ALTERNATIVE NAME {i}: {n}\n" for i, n in enumerate(names, start=1))
        text += "".join(f"{count}: {order}\n" for count, order in orders)
    path = folder / f"votes.{kind}"
    path.write_text(text, encoding="utf-8")
    return path


def reference(rankings, arms, last):
    """Count voter by voter and pair by pair."""
    wins, ties = np.zeros((arms, arms)), np.zeros((arms, arms))
    for count, groups in rankings:
        rank = {option: place for place, group in enumerate(groups) for option in group}
        if last:
            rank = {option: rank.get(option, len(groups)) for option in range(arms)}
        for a, b in combinations(range(arms), 2):
            if a in rank and b in rank:
                if rank[a] < rank[b]:
                    wins[a, b] += count
                elif rank[a] > rank[b]:
                    wins[b, a] += count
                else:
                    ties[a, b] += count
                    ties[b, a] += count
    return wins, ties


def random_rankings(rng, kind, arms):
    rankings = []
    for _ in range(int(rng.integers(1, 8))):
        options = rng.permutation(arms).tolist()
        if kind in ("soi", "toi"):
            options = options[: int(rng.integers(1, arms + 1))]
        groups = [[option] for option in options]
        if kind in ("toc", "toi"):
            groups = []
            for option in options:
                if groups and rng.random() < 0.4:
                    groups[-1].append(option)
                else:
                    groups.append([option])
        rankings.append((int(rng.integers(1, 50)), groups))
    return rankings


@pytest.mark.parametrize("kind", ["soc", "soi", "toc", "toi"])
def test_a_file_is_counted_like_the_reference(kind, tmp_path):
    rng = np.random.default_rng(7)
    for case in range(300):
        arms = int(rng.integers(2, 8))
        names = [f"Option {i}, é" for i in range(arms)]
        rankings = random_rankings(rng, kind, arms)
        path = write(tmp_path, kind, rankings, names, old=case % 2 == 1)
        for unranked in ("ignore", "last"):
            counts = read_preflib(path, unranked=unranked)
            wins, ties = reference(rankings, arms, unranked == "last")
            np.testing.assert_array_equal(counts.wins, wins)
            np.testing.assert_array_equal(counts.ties, ties)
            assert counts.names == tuple(names)
            assert counts.title == ("" if case % 2 else "A small election")
            total = wins + wins.T + ties
            if counts.unseen == 0:
                expected = np.where(total > 0, (wins + ties / 2) / np.maximum(total, 1), 0.5)
                np.testing.assert_allclose(counts.preferences().matrix, expected, atol=1e-12)


def test_pairs_are_read_as_they_are(tmp_path):
    path = tmp_path / "pairs.pwg"
    path.write_text("3\n1,A\n2,B\n3,C\n10,25,5\n7,1,2\n3,2,1\n6,1,3\n4,3,1\n5,2,3\n")
    counts = read_preflib(path, unranked="last")
    np.testing.assert_array_equal(counts.wins, [[0, 7, 6], [3, 0, 5], [4, 0, 0]])
    np.testing.assert_allclose(counts.preferences().matrix[0], [0.5, 0.7, 0.6])
    assert counts.preferences().matrix[1, 2] == 1.0


def test_pairs_that_were_never_compared_are_refused_or_even(tmp_path):
    path = write(tmp_path, "soi", [(3, [[0], [1]]), (2, [[2]])], ["A", "B", "C"])
    counts = read_preflib(path)
    assert counts.unseen == 2
    with pytest.raises(DriftduelError, match=r"2 of 3 pairs were never compared; .*unseen=even"):
        counts.preferences()
    np.testing.assert_array_equal(
        counts.preferences(unseen="even").matrix, [[0.5, 1, 0.5], [0, 0.5, 0.5], [0.5, 0.5, 0.5]]
    )
    assert counts.preferences(prior=2).matrix[0, 1] == 4 / 5
    assert read_preflib(path, unranked="last").unseen == 0


def test_tables_of_ranks_and_of_orders(tmp_path):
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("A,B,C,count\n1,2,3,10\n2,1,2,5\n1,,2,1\n", encoding="utf-8-sig")
    wins, ties = reference(
        [(10, [[0], [1], [2]]), (5, [[1], [0, 2]]), (1, [[0], [2]])], 3, last=False
    )
    counts = read_rankings(ranks)
    assert counts.names == ("A", "B", "C")
    np.testing.assert_array_equal(counts.wins, wins)
    np.testing.assert_array_equal(counts.ties, ties)
    orders = tmp_path / "orders.csv"
    orders.write_text("1,2,3\nB,A,C\nC,A,\nB,C,A\n")
    wins, _ = reference([(1, [[1], [0], [2]]), (1, [[2], [0]]), (1, [[1], [2], [0]])], 3, False)
    counts = read_rankings(orders)
    assert counts.names == ("A", "B", "C")
    np.testing.assert_array_equal(counts.wins, wins)
    assert isinstance(counts, PairCounts)


def test_a_file_is_a_world_with_names(tmp_path, capsys):
    names = ["Anna", "Bert", "Cleo"]
    path = write(tmp_path, "soc", [(60, [[2], [0], [1]]), (40, [[0], [1], [2]])], names)
    world = make_world(f"preflib:path={path},rounds=500")
    assert world.names == tuple(names)
    assert world.rounds == 500
    np.testing.assert_allclose(world.preferences(7).matrix[2], [0.6, 0.6, 0.5])
    assert world.condorcet_winners() == [(1, 2)]
    assert play("dts", world, seed=1).finished
    table = tmp_path / "ranks.csv"
    table.write_text("A,B\n1,2\n2,1\n1,2\n")
    assert make_world(f"preflib:path={table}").preferences(1).matrix[0, 1] == pytest.approx(2 / 3)
    assert cli.main(["measure", f"--world=preflib:path={path}"]) == 0
    capsys.readouterr()
    assert path_as_spec("x/votes.soi") == "preflib:path=x/votes.soi"


GOOD = (
    "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n"
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v.soc", "", "is empty"),
        ("v.soc", "what is this\n", "number of alternatives in line 1 must be a whole number"),
        ("v.txt", "2\n1,A\n2,B\n1,1,1\n1,1,2\n", "of the type 'txt'; comparisons are in files of"),
        ("v.soc", GOOD.replace("soc", "cat"), "of the type 'cat'"),
        ("v.soc", "# DATA TYPE: soc\n1: 1,2\n", "no line '# NUMBER ALTERNATIVES: ...'"),
        ("v.soc", GOOD + "# nonsense\n1: 1,2\n", r"line 5 must have the form '# KEY: value'"),
        ("v.soc", GOOD + "# ALTERNATIVE NAME 2: C\n1: 1,2\n", "alternative 2 a second time"),
        ("v.soc", GOOD + "# ALTERNATIVE NAME 3: C\n1: 1,2\n", "names 3 alternatives, and .* 2"),
        ("v.soc", GOOD.replace(": B", ": A") + "1: 1,2\n", "two alternatives with the name 'A'"),
        ("v.soc", GOOD.replace("NAME 2", "NAME 5") + "1: 1,2\n", "no name for alternative 2 of 2"),
        ("v.soc", GOOD.replace("S: 2", "S: 1") + "1: 1,2\n", "must be between 2 and 2,000"),
        ("v.soc", GOOD.replace("S: 2", "S: 99999") + "1: 1,2\n", "must be between 2 and 2,000"),
        ("v.soc", GOOD, "has no orders after its header"),
        ("v.soc", GOOD + "1: 1,2,\n1: one,2\n", "line 6 must be a count and an order"),
        ("v.soc", GOOD + "1: 1,3\n", "line 5 has alternative 3; alternatives are 1 to 2"),
        ("v.soc", GOOD + "1: 1,1\n", "line 5 ranks an alternative twice"),
        ("v.soc", GOOD + "0: 1,2\n", "line 5 has the count 0; it must be above 0"),
        ("v.soc", GOOD + "1: {1,2}\n", "line 5 has a tie, which a soc file cannot have"),
        ("v.soc", GOOD + "1: 2\n", "line 5 ranks 1 of 2 alternatives; in a soc file"),
        ("v.soc", GOOD.replace("2\n", "2\n# NUMBER VOTERS: 9\n", 1) + "8: 2,1\n",
         "has 8 votes, and its header announces 9; the file is not complete"),
        ("v.soc", "2\n1,A\n2,B\n9,9,1\n8,1,2\n", "has 8 votes, and its header announces 9"),
        ("v.soc", "2\n1,A\n2 B\n9,9,1\n9,1,2\n", "line 3 must have the form 'number,name'"),
        ("v.soc", "2\n1,A\n2,B\n9,1,2\n", "has no orders"),
        ("v.soc", "2\n1,A\n2,B\n9,9\n9,1,2\n", "no line 'voters,votes,orders'"),
        ("v.pwg", "2\n1,A\n2,B\n9,9,1\n9,1\n", "line 5 must have a count and two alternatives"),
        ("v.csv", "A,B\n", "a header and at least one row"),
        ("v.csv", "A,B\n1,2,3\n", "line 2 has 3 cells; its header has 2"),
        ("v.csv", "A,B\n1,x\n", "line 2 has 'x' where a rank is needed"),
        ("v.csv", "A,B,count\n1,2,-1\n", "line 2 has the count '-1', not one above 0"),
        ("v.csv", "A,A\n1,2\n", "two alternatives with the name 'A'"),
        ("v.csv", "A,\n1,2\n", "a column without a name"),
        ("v.csv", "1,2\nB,B\nA,B\n", "line 2 ranks an option twice"),
        ("v.csv", "A\n1\n", "has 1 option; there must be between 2 and 2,000"),
    ],
)  # fmt: skip
def test_a_broken_file_gives_one_sentence(name, text, said, tmp_path, capsys):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DriftduelError) as refused:
        make_world(f"preflib:path={path}")
    sentence = str(refused.value)
    assert re.search(said, sentence), sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(path) in sentence
    assert cli.main(["measure", f"--world=preflib:path={path}"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_bytes_that_are_no_text_give_one_sentence(tmp_path):
    path = tmp_path / "v.soc"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DriftduelError, match="is not a text file in UTF-8"):
        read_preflib(path)
    with pytest.raises(DriftduelError, match=r"unranked='first' must be ignore or last"):
        read_preflib(write(tmp_path, "soc", [(1, [[0], [1]])], ["A", "B"]), unranked="first")


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "preflib.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    names = ["A", "B", "C"]
    write(tmp_path, "soi", [(6, [[1], [0]]), (2, [[1], [2]])], names).rename("votes-later.soi")
    write(tmp_path, "soi", [(60, [[2], [0], [1]]), (40, [[0], [1]])], names)
    used: dict = {}
    for snippet in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(compile(snippet, "guide", "exec"), used)
    assert "A small election ('A', 'B', 'C')" in capsys.readouterr().out
    assert used["world"].names == ("A", "B", "C")
    assert used["world"].condorcet_winners() == [(1, 2), (25_001, 1)]
    (tables,) = re.findall(r"```text\n(.*?)```", guide, re.DOTALL)
    for name, part in (("ranks.csv", slice(0, 19)), ("orders.csv", slice(19, None))):
        lines = [line[part].strip() for line in tables.splitlines()]
        Path(name).write_text("\n".join(lines))
        assert read_rankings(name).names == ("A", "B", "C")
