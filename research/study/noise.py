"""Experiment 2, background noise: S^P grows while S^CW stays."""

from typing import NamedTuple

import polars as pl

from driftduel._internal.wording import rough, share, whole
from driftduel.lab import Plan, make_plan
from research.study.common import (
    FLAT,
    MODULE,
    NEAR_UNIFORM,
    Chart,
    Claim,
    Panel,
    Section,
    Size,
    Table,
    flat_verdict,
    interval,
    rounds_text,
    times,
)
from research.study.fits import Floats, label, line, mean_of, over, ratio, setting as of

__all__ = ["NAME", "analyse", "plans"]

NAME = "noise"
_OURS = "anaconda:constant=0.5"
# (horizon, runs, how many rounds the losers keep their order; 0 for ever)
_SIZES: dict[Size, tuple[int, int, tuple[int, ...]]] = {
    "tiny": (3_000, 2, (0, 100, 1)),
    "quick": (1_000_000, 4, (0, 10_000, 100, 1)),
    "full": (10_000_000, 6, (0, 100_000, 1_000, 30, 1)),
}


class _Kind(NamedTuple):
    """A policy, and the number of switches that it is given."""

    policy: str
    told: str = ""

    def __str__(self) -> str:
        return label(self.policy) + (f", told {self.told}" if self.told else "")

    def spec(self, world: str) -> str:
        """Write it as the lab plays it in a world."""
        if not self.told:
            return self.policy
        switches = _switches(world) if self.told == "S^P" else _winner_switches(world)
        # DEX3.S does not use a variation; with this value it is not given the true one.
        more = ",variation=0" if self.policy == "dex3s" else ""
        return f"{self.policy}:switches={switches}{more}"


_ANACONDA = _Kind(_OURS)
_UNIFORM = _Kind("uniform")
# The parameter of DEX3.S is the number of switches of its comparators, that of MDB the one of the
# preferences. The other number, too, separates the effect of noise from that of the parameter.
_DEX3S = _Kind("dex3s", "S^CW")
_KINDS = (
    _ANACONDA, _Kind("mdb", "S^P"), _DEX3S, _Kind("dex3s", "S^P"), _UNIFORM, _Kind("mdb", "S^CW"),
)  # fmt: skip
_FLAT = (_ANACONDA, _DEX3S)
"""Policies with guarantees that do not depend on S^P."""


def _switches(world: str) -> int:
    """Return S^P: swaps of the losers, and those switches of the winner that are not among them."""
    rounds = int(of(world, "rounds"))
    if world.startswith("alternating") or int(of(world, "every")) == 1:
        return rounds - 1
    phases, every = int(of(world, "phases")), int(of(world, "every")) or rounds
    changes = {1 + i * rounds // phases for i in range(1, phases)}
    return len(changes.union(range(every + 1, rounds + 1, every)))


def plans(size: Size) -> list[Plan]:
    """Return one plan for each level of noise, since a parameter of the rivals depends on it."""
    rounds, runs, levels = _SIZES[size]
    worlds = [
        f"study-noise:rounds={rounds},phases={phases},every={every}"
        for phases in (5, 1)
        for every in levels
    ]
    made = []
    for world in [*worlds, f"alternating:rounds={rounds}"]:
        unlike = tuple(dict.fromkeys(kind.spec(world) for kind in _KINDS))
        made.append(make_plan([world], unlike, runs, (1,), imports=(MODULE,)))
    return made


def _winner_switches(world: str) -> int:
    """Return S^CW."""
    return 0 if world.startswith("alternating") else int(of(world, "phases")) - 1


def _of_kind(games: pl.DataFrame, kind: _Kind) -> pl.DataFrame:
    """Return the games of a policy; without noise both versions of a rival are equal."""
    wanted = [
        policy == kind.spec(world) for world, policy in games.select("world", "policy").iter_rows()
    ]
    return games.filter(pl.Series(wanted, dtype=pl.Boolean))


def analyse(games: pl.DataFrame) -> Section:
    """Fit regret and restarts against S^P."""
    games = games.with_columns(
        pl.Series("told", [_switches(world) for world in games["world"]], dtype=pl.Int64)
    )
    rounds = float(games["rounds"][0])
    remark = games.filter(pl.col("world").str.starts_with("alternating"))
    family = games.filter(~pl.col("world").str.starts_with("alternating"))
    claims, panels, rows = [], [], []
    for phases in (5, 1):
        chosen = family.filter(
            pl.col("world").map_elements(lambda w: of(w, "phases"), return_dtype=pl.Int64) == phases
        )
        base = over(_of_kind(chosen, _UNIFORM), lambda row: row["told"])[1][0]
        lines, counts = [], []
        for style, kind in enumerate(_KINDS):
            part = _of_kind(chosen, kind)
            xs, samples = over(part, lambda row: row["told"] + 1)
            _, restarts = over(part, lambda row: row["told"] + 1, "restarts")
            lines.append(line(str(kind), xs, samples, style))
            if kind is _ANACONDA or kind.policy == "mdb":
                counts.append(line(str(kind), xs, restarts, style))
            for x, sample, again in zip(xs, samples, restarts, strict=True):
                rows.append([str(phases - 1), whole(x - 1), *_row(kind, sample, again)])
            if kind is not _UNIFORM:
                claims.append(_claim(kind, phases, xs, samples, base, rounds))
        panels += [
            Panel(f"regret, S^CW = {phases - 1}", "S^P + 1", "dynamic regret", lines),
            Panel(f"restarts, S^CW = {phases - 1}", "S^P + 1", "restarts", counts, y_log=False),
        ]
    claims.append(_remark_claim(remark, rounds))
    head = ["S^CW", "S^P", "policy", "regret", "95% interval", "restarts"]
    text = (
        f"Three arms; the winner beats both others with probability "
        f"{0.5 + of(family['world'][0], 'margin')}, and these two swap their "
        "order more and more often, up to every round. MDB is given S^P, the number in its "
        "guarantee; that of DEX3.S (Saha and Gupta, Theorem 4.1) is about any sequence of "
        "arms, so it is given S^CW, that is S^CW + 1 phases. S^P would do as well in theory, and "
        "is shown too: the larger this parameter, the more rounds are spent on exploration. "
        "Where MDB's formula (with its default of delta) asks for more rounds than there are, it "
        "watches some of the pairs only and never plays what it has learned: its places near "
        "uniform play are that breakdown. With a smaller parameter it detects swaps and restarts; "
        "fast ones average out in its windows. MDB with S^CW instead shows the effect of the noise "
        "itself. ANACONDA (C = 0.5) is given T only."
    )
    title = f"Regret and restarts as losers swap more often, T = {rounds_text(rounds)}"
    chart = Chart("noise", title, panels, "Bands are 95% intervals over runs.")
    own = [
        _row(kind, *(_column(_of_kind(remark, kind), name) for name in ("regret", "restarts")))
        for kind in _KINDS
    ]
    tables = [
        Table(title, head, rows),
        Table(
            f"Remark 2.1's own example: S^CW = 0, S^P = T - 1, T = {rounds_text(rounds)}",
            head[2:],
            own,
        ),
    ]
    return Section(
        2, "Background noise", text, claims, tables, [chart],
        "longer horizons, for which DEX3.S is too slow.",
    )  # fmt: skip


def _column(games: pl.DataFrame, name: str) -> Floats:
    """Return regrets, or how many restarts there were."""
    return over(games, lambda row: row["rounds"], name)[1][0]


def _row(kind: _Kind, regrets: Floats, restarts: Floats) -> list[str]:
    mean = mean_of(regrets)
    return [
        str(kind), rough(mean.value), interval(mean.low, mean.high),
        rough(float(restarts.mean())),
    ]  # fmt: skip


def _claim(
    kind: _Kind, phases: int, xs: list[float], samples: list[Floats], base: Floats, rounds: float
) -> Claim:
    last = ratio(samples[-1], samples[0])
    of_uniform = float(samples[0].mean() / base.mean())
    low, high, flat = last.low, last.high, kind in _FLAT
    if flat or low is None or high is None or of_uniform > NEAR_UNIFORM:
        verdict = flat_verdict(low, high, rounds, of_uniform, both=True)
    elif low > FLAT:
        verdict = "holds"
    elif high < FLAT:
        verdict = f"not seen up to T = {rounds_text(rounds)}"
    else:
        verdict = f"undecided: the interval contains {FLAT}"
    statement = (
        f"regret does not depend on S^P, within a factor of {FLAT}"
        if flat
        else f"{kind}, degrades as S^P grows, by a factor of {FLAT} or more"
    )
    if kind is _DEX3S:
        statement = f"{kind}: {statement}"
    return Claim(
        "Remark 2.1, Theorem 3.1" if kind is _ANACONDA else "ours, after Section 3",
        f"{statement} (S^CW = {phases - 1})",
        f"{times(last.value)} times the regret at S^P = {whole(xs[-1] - 1)} as at "
        f"{whole(xs[0] - 1)}",
        interval(low, high),
        verdict,
    )


def _remark_claim(remark: pl.DataFrame, rounds: float) -> Claim:
    part = _of_kind(remark, _ANACONDA)
    uniform = _of_kind(remark, _UNIFORM)["regret"].to_numpy()
    of_uniform = ratio(part["regret"].to_numpy(), uniform)
    restarts = sum(len(each) for each in part["restarts"].to_list())
    seen = of_uniform.high is not None and of_uniform.high < NEAR_UNIFORM and restarts == 0
    return Claim(
        "Remark 2.1",
        f"in the remark's own example (S^P = T - 1, S^CW = 0) it loses less than "
        f"{share(NEAR_UNIFORM)} of uniform play at T = {rounds_text(rounds)}, without restarts "
        f"({label(_OURS)})",
        f"{restarts} restarts in {len(part)} runs; {share(of_uniform.value)} of uniform play's "
        f"regret",
        interval(of_uniform.low, of_uniform.high),
        "holds" if seen else f"not seen up to T = {rounds_text(rounds)}",
    )
