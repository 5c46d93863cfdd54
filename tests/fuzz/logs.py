"""Draw logs of comparisons: sound ones, and broken ones of every kind that files can be."""

import gzip
import io
import json
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from tests.fuzz.inputs import LETTERS, NUMBERS, WORDS, Input, Rng, damaged, mutated, pick

__all__ = ["logs"]

_NAMES = ("ale", "gin", "tea", "a", "first", "1", "tie", "Zoë")
_PAIRS = (
    ("model_a", "model_b"), ("home", "away"), ("home_team", "visitor_team"), ("White", "Black"),
    ("player1", "player2"), ("left", "right"), ("Option A", "Option B"),
)  # fmt: skip
_TIMES = {
    "round": str,
    "date": lambda t: f"2020-{1 + t // 28:02}-{1 + t % 28:02}",
    "moment": lambda t: f"2020-01-{1 + t // 24:02}T{t % 24:02}:30:00Z",
    "epoch": lambda t: str(1_700_000_000 + 60 * t),
    "packed": lambda t: f"2020{1 + t // 28:02}{1 + t % 28:02}",
    "slashed": lambda t: f"{1 + t % 12:02}/{1 + t % 12:02}/2020",
}
_ODD = (
    *NUMBERS, *WORDS, "null", "NULL", "NaN", "tie", "both", "2020-02-30", "0000-00-00",
    "9999-12-31", "20200230", "1e18", "99999999999999999999", "-5", "2020-01-01T25:00:00",
    "01/02/03", "x" * 1_000_000, '"', '""', '"open', "a,b", "a\tb", "a\nb", "\ufeff", "\x1b[31m",
)  # fmt: skip
_COMMANDS = ("summary", "summary", "changes", "changes", "count", "count", "measure", "world",
             "compare", "replay", "report", "forecast", "evaluate", "tags", "features")  # fmt: skip


def logs(rng: Rng) -> Input:
    """Return a log, mostly with something wrong in it, and a command that reads it."""
    kind = pick(rng, ("csv", "csv", "csv", "tsv", "parquet", "npz", "jsonl", "jsonl.gz", "json"))
    name = f"v.{kind}"
    files = {name: _content(rng, kind)}
    argv = ["log", pick(rng, _COMMANDS), name, *_arguments(rng)]
    if argv[1] in ("count", "world"):
        argv += ["--save", pick(rng, ("c.npz",) * 9 + ("c.txt", name, "o/c.npz"))]
    if argv[1] in ("measure", "world") and rng.random() < 0.1:
        argv += [f"--rounds={pick(rng, NUMBERS)}"]
    if argv[1] in ("compare", "replay"):
        argv += ["--policy", "uniform", "--runs", pick(rng, ("1",) * 9 + ("0", "-1", "x"))]
    if argv[1] == "forecast" and rng.random() < 0.3:
        argv += [f"--pair={pick(rng, ('model 0,model 1', 'model 1,model 1', 'ale,gin', 'x', ','))}"]
    if argv[1] == "tags":
        argv += [f"--by={pick(rng, ('voter', 'winner', 'time', 'lang', *WORDS))}"]
    if argv[1] == "features":
        argv += [f"--features={pick(rng, ('voter', 'winner,time', 'time', 'a,a', 'lang', *WORDS))}"]
        if rng.random() < 0.3:
            argv += [f"--prices={pick(rng, ('ale=0.1', 'ale', 'x=1', 'ale=nan', ',', '=1'))}"]
    if argv[1] == "compare":
        argv += ["--rounds", "50", "--sisters", pick(rng, ("2",) * 9 + ("0", "1"))]
    if argv[1] == "measure":
        argv += ["--draws", pick(rng, ("3",) * 99 + tuple(NUMBERS))]
    if argv[1] == "report":  # policies are played by compare
        argv += ["--no-policies", "--out", pick(rng, ("page",) * 9 + (name, "o/page"))]
    argv += ["--json"] * (rng.random() < 0.5)
    if kind != "npz" and rng.random() < 0.1:  # a log in two files
        other = f"w.{kind}"
        files[other] = _content(rng, kind)
        argv.insert(3, other)
    return Input("", files, argv)


def _content(rng: Rng, kind: str) -> bytes:
    if kind == "npz":
        return _counted(rng)
    if kind == "parquet":
        return _parquet(rng)
    if kind.startswith("json"):
        content = _json(rng, lines=kind != "json")
        return gzip.compress(content) if kind.endswith(".gz") and rng.random() < 0.95 else content
    return _text(rng, "\t" if kind == "tsv" else ",")


def _arguments(rng: Rng) -> list[str]:
    argv = ["--bins", pick(rng, ("4", "8"))] if rng.random() < 0.9 else []
    if rng.random() < 0.03:
        argv += ["--bins", pick(rng, NUMBERS)]
    for option, words in (
        (
            "--columns",
            (
                "winner=first",
                "first=a,second=b",
                "loser=winner",
                "winner=",
                "=",
                "x=y",
                "winner=result.winner",
                "first_score=hs,second_score=as",
                "first_won=time",
                "first_won=winner_a,second_won=winner_b",
                "winner=winner_a",
                "shown=shown",
                "ranking=shown",
                "ranking=ranking,shown=shown",
                "options=option_1+option_2",
                "options=first+second",
                "places=rank_ale+rank_gin",
                "places=time+winner",
                "options=",
            ),
        ),
        ("--present", ("model 0", "model 0,model 1", "ale,tea", ",", "nothing")),
        ("--most", ("2", "3", "1", "1001", "-1", "x")),
        ("--time", ("time", "winner", "group", "weight", "nothing")),
        ("--group", ("group", "time", "winner+time", "+", "nothing")),
        ("--time-format", ("%Y-%m-%d", "%d/%m/%Y", "%H:%M", "%Q", "%", "%s", "%z", "%Y%m%d%Z")),
    ):
        if rng.random() < 0.04:
            word = pick(rng, words) if rng.random() < 0.8 else pick(rng, WORDS)
            argv += [f"{option}={word}"]
    return argv


def _table(rng: Rng, *, nested: bool = False) -> dict[str, list[str]]:
    """Return the columns of a small sound log, perhaps with the winner in a key in a key."""
    rows = int(rng.choice([0, 1, 2, 30, 30, 60, 60, 60, 60, 60, 120, 120]))
    options = int(rng.choice([1, 2, 2, 3, 3, 3, 3, 3, 4, 4, 8]))
    first = rng.integers(options, size=rows)
    second = (first + 1 + rng.integers(max(1, options - 1), size=rows)) % options
    names = np.array(_NAMES if rng.random() < 0.3 else [f"model {i}" for i in range(8)])
    won = rng.random(rows) < 0.6
    winner = names[np.where(won, first, second)]
    one, other = pick(rng, _PAIRS) if rng.random() < 0.5 else ("first", "second")
    table = {one: names[first], other: names[second]}
    if rng.random() < 0.25 and options > 2:
        table = _slates(rng, rows, names[:options], nested=nested)
    match rng.integers(9) if one in table else 9:
        case 9:  # the picks or rankings of slates
            pass
        case 0:
            table = {"winner": winner, "loser": names[np.where(won, second, first)]}
        case 1:
            words = (("a", "b"), ("1", "0"), ("1", "2"), ("1-0", "0-1"), ("H", "A"), ("1", "-1"))
            table[pick(rng, ("winner", "result", "preference"))] = np.where(won, *pick(rng, words))
        case 2:
            scores = (("home_goals", "away_goals"), ("score_a", "score_b"), ("hs", "as"))
            for name in pick(rng, scores):
                table[name] = rng.integers(4, size=rows)
        case 3:
            flags = rng.permutation(np.eye(3, dtype=int))[rng.integers(3, size=rows)]
            table |= {"winner_a": flags[:, 0], "winner_b": flags[:, 1], "winner_tie": flags[:, 2]}
        case 4:
            table = {"winner": winner, "loser": names[np.where(won, second, first)]}
            table["home_team"] = names[first]
        case 5 if nested:
            table["result.winner"] = winner
        case _:
            table["winner"] = winner
    if rng.random() < 0.8:
        write = _TIMES[pick(rng, _TIMES)]
        speed = int(rng.choice([1, 1, 7, 1000]))
        table["time"] = [write(t // speed) for t in range(rows)]
    if rng.random() < 0.4:
        table["group"] = [str(t // 5) for t in range(rows)]
    if rng.random() < 0.3:
        table["weight"] = [str(w) for w in rng.choice([1, 2, 0.5], size=rows)]
    if rng.random() < 0.1 and "first" in table and "winner" in table and "time" in table:
        table |= {"seq": np.arange(rows), "voter": first, "counted": won}  # an arena export
        present = ('["model 0", "model 1"]', '["new"]', "[]", "", "[", "{}", "[1]", '["ale"]')
        table["options"] = [pick(rng, present)] + [""] * (rows - 1) if rows else []
    if rng.random() < 0.2:
        table["tie"] = [str(t) for t in rng.choice([0, 1], size=rows)]
    return {
        name: [cell if isinstance(cell, list) else str(cell) for cell in column]
        for name, column in table.items()
    }


def _slates(rng: Rng, rows: int, names: Any, *, nested: bool) -> dict[str, Any]:
    """Return the columns of a log of picks or rankings, in one of their forms."""
    size = int(rng.integers(2, len(names) + 1))
    order = [[str(n) for n in rng.permutation(names)[:size]] for _ in range(rows)]
    shown = [sorted(row) for row in order]
    sign = pick(rng, ("|", ";", " > ", ", ", "json", "python"))

    def written(lists: list[list[str]]) -> list[str]:
        if sign in ("json", "python"):
            return [json.dumps(row) if sign == "json" else str(row) for row in lists]
        return [sign.join(row) for row in lists]

    first = [row[0] for row in order]
    none = [pick(rng, (*[name] * 20, "", "tie", "none")) for name in first]
    match rng.integers(6):
        case 0:
            return {"ranking": written(order)}
        case 1:
            cut = [row[: rng.integers(1, size + 1)] for row in order]
            return {"ranking": written(cut), "shown": written(shown)}
        case 2:
            columns = {f"option_{m + 1}": [row[m] for row in shown] for m in range(size)}
            return {**columns, "winner": none}
        case 3:
            return {f"rank_{n}": [row.index(n) + 1 if n in row else "" for row in order]
                    for n in map(str, names)}  # fmt: skip
        case 4 if nested:
            return {"shown": shown, "winner": none}  # lists of JSON
        case _:
            return {"shown": written(shown), pick(rng, ("winner", "pick", "chosen")): none}


def _spoil(rng: Rng, table: dict[str, list[Any]]) -> None:
    """Put odd cells into a table, drop a column or fill one with one value."""
    for _ in range(rng.integers(0, 3)):
        name = pick(rng, table)
        cells = table[name]
        match rng.integers(16):
            case 0 if len(table) > 1:
                del table[name]
            case 1:
                table[name] = [pick(rng, _ODD)] * len(cells)
            case 2:
                table[pick(rng, (f"{name} ", "x", "A", "b", "date", "x" * 5000))] = table.pop(name)
            case 3:
                table[name] = [pick(rng, _ODD[:-13]) for _ in cells]
            case _ if cells:
                cells[rng.integers(len(cells))] = pick(rng, _ODD)


def _text(rng: Rng, separator: str) -> bytes:
    table: dict[str, list[Any]] = dict(_table(rng))
    if rng.random() < 0.8:
        _spoil(rng, table)
    head = list(table)
    lines = [separator.join(head)]
    lines += [separator.join(row) for row in zip(*table.values(), strict=True)]
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        at = int(rng.integers(len(lines)))
        match rng.integers(9):
            case 0:
                lines[at] += separator + "more"
            case 1:
                lines[at] = lines[at].rpartition(separator)[0]
            case 2:
                lines[at] = ""
            case 3:
                lines[0] = lines[0] + separator + pick(rng, head)
            case 4:
                lines[at] = f'"{lines[at]}'
            case 5:
                lines[at] += pick(rng, LETTERS)
            case 6:
                lines = lines[at:]
            case 7:
                lines = [lines[0]] + [line for line in lines[1:] for _ in range(3)]
            case _:
                lines[at] = mutated(rng, lines[at][:2000])
    text = pick(rng, ("\n", "\n", "\n", "\r\n", "\r")).join(lines)
    content = text.encode("utf-8", "surrogateescape")
    match rng.integers(25):
        case 0:
            content = damaged(rng, content)
        case 1:
            content = pick(rng, (b"", b"\n", b"\xff\xfe", b"\x1f\x8b", b"\0" * 99, b",,,\n,,,\n"))
        case 2:
            content = text.encode(pick(rng, ("utf-16", "utf-8-sig", "latin-1")), "replace")
    return content


def _json(rng: Rng, *, lines: bool) -> bytes:
    """Return JSON or JSON lines, some of it nested, retyped, cut off or no JSON at all."""
    table: dict[str, list[Any]] = dict(_table(rng, nested=True))
    if rng.random() < 0.7:
        _spoil(rng, table)
    rows = [_object(rng, row) for row in (dict(zip(table, r)) for r in zip(*table.values()))]  # noqa: B905
    odd = (None, 5, [], {}, "x", [1, {}], {"winner": []}, {"winner": {"a": {}}})
    if rows and rng.random() < 0.1:
        rows[rng.integers(len(rows))] = pick(rng, odd)
    if lines or rng.random() < 0.2:
        text = pick(rng, ("\n", "\n", "\n\n", "\r\n")).join(json.dumps(row) for row in rows)
    else:
        whole: Any = rows
        match rng.integers(5):
            case 0:
                whole = {"version": 1, "votes": rows}
            case 1:
                whole = {name: list(column) for name, column in table.items()}
            case 2:
                whole = pick(rng, (rows[:1], [rows], {"a": rows, "b": rows}, {"a": {"b": rows}}))
        text = json.dumps(whole, indent=pick(rng, (None, None, 1)))
    content = text.encode("utf-8", "surrogateescape")
    match rng.integers(12):
        case 0:
            content = damaged(rng, content)
        case 1:
            content = content[: rng.integers(len(content) + 1)]
        case 2:
            broken = (
                b"",
                b"[",
                b"{",
                b"null",
                b"[]",
                b"{}",
                b"NaN",
                b"\xff",
                b"[" * 5000,
                b"{}\n" * 9,
            )
            content = pick(rng, broken)
        case 3:
            content = mutated(rng, text[:5000]).encode("utf-8", "surrogateescape")
    return content


def _object(rng: Rng, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON has it: some cells as numbers, a dotted name as a key in a key."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        value = cell
        if rng.random() < 0.002:
            value = pick(rng, (None, 1, 2.5, True, [], {}, [cell], {"a": cell}, 10**30))
        elif isinstance(cell, str) and cell.isdigit() and len(cell) < 300:
            value = int(cell)
        outer, dot, inner = name.partition(".")
        if dot:
            found[outer] = {inner: value}
        else:
            found[name] = value
    return found


_KINDS = (
    pl.String, pl.Float64, pl.Float32, pl.Int64, pl.Int8, pl.UInt64, pl.Boolean, pl.Binary,
    pl.Date, pl.Datetime("ns"), pl.Datetime("us", "Europe/Paris"), pl.Time, pl.Duration("us"),
    pl.Categorical, pl.Decimal(10, 2), pl.List(pl.String), pl.Null, pl.Struct({"a": pl.Int64}),
    pl.Object,
)  # fmt: skip


def _parquet(rng: Rng) -> bytes:
    table: dict[str, list[Any]] = dict(_table(rng))
    if rng.random() < 0.6:
        _spoil(rng, table)
    for column in table.values():
        if column and rng.random() < 0.2:
            column[rng.integers(len(column))] = None
    words = {
        name: [w if w is None else w.encode("utf-8", "replace").decode() for w in column]
        for name, column in table.items()
    }
    frame = pl.DataFrame(words, schema=dict.fromkeys(words, pl.String))
    for name in ("shown", "ranking"):
        if name in frame.columns and rng.random() < 0.5:
            frame = frame.with_columns(pl.col(name).str.split(pick(rng, ("|", " > ", ";"))))
    for _ in range(rng.integers(0, 4)):
        name, kind = pick(rng, frame.columns), pick(rng, _KINDS)
        try:
            if kind == pl.List(pl.String):
                frame = frame.with_columns(pl.concat_list(name))
            elif rng.random() < 0.3:
                frame = frame.with_columns(
                    pl.lit(pick(rng, (0, 1, -1, 10**18))).cast(kind).alias(name)
                )
            else:
                frame = frame.with_columns(pl.col(name).cast(kind, strict=False))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            continue
    file = io.BytesIO()
    try:
        frame.write_parquet(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return b"PAR1"
    return damaged(rng, file.getvalue()) if rng.random() < 0.2 else file.getvalue()


@cache
def _saved_counts(groups: bool) -> bytes:
    from driftduel.logs import counts_from_votes

    rng = np.random.default_rng(3)
    first = rng.integers(3, size=60)
    second = (first + 1 + rng.integers(2, size=60)) % 3
    group = np.arange(60) // 5 if groups else None
    counts = counts_from_votes(
        first, second, (rng.random(60) < 0.6).astype(float), time=np.arange(60), group=group,
        names=("ale", "gin", "tea"), bins=8, clock="date",
    )  # fmt: skip
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        counts.save(Path(folder) / "c.npz")
        return (Path(folder) / "c.npz").read_bytes()


def _counted(rng: Rng) -> bytes:
    """Return counts that were saved, with arrays that are missing, retyped or hold nonsense."""
    whole = _saved_counts(bool(rng.integers(2)))
    if rng.random() < 0.3:
        return damaged(rng, whole)
    with np.load(io.BytesIO(whole), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for _ in range(rng.integers(0, 3)):
        name = pick(rng, arrays)
        array = arrays[name]
        match rng.integers(6):
            case 0:
                del arrays[name]
            case 1:
                kinds = ["f8", "f4", "i8", "i1", "u8", "?", "c16", "S3", "U2", "M8[s]"]
                shape = tuple(rng.integers(0, 4, size=rng.integers(0, 4)))
                arrays[name] = np.zeros(shape, dtype=pick(rng, kinds))
            case 2 if array.dtype.kind in "fiu" and array.size:
                odd = array.astype(float)
                odd.flat[rng.integers(odd.size)] = float(
                    pick(rng, ("nan", "inf", "-1", "0", "1e300", "2.5", "1e19", "7"))
                )
                arrays[name] = odd if rng.random() < 0.5 else odd.astype(array.dtype)
            case 3:
                arrays[name] = array[..., None]
            case 4 if array.ndim:
                arrays[name] = array[:-1]
            case _ if array.dtype.kind == "U" and array.size:
                arrays[name] = np.array(mutated(rng, str(array.flat[0])))
        if not arrays:
            break
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
