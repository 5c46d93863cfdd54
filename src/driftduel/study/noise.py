"""Experiment 2, background noise: S^P grows while S^CW stays."""

import polars as pl

from driftduel.lab import Plan, make_plan
from driftduel.specs import Spec
from driftduel.study.common import (
    MODULE,
    NEAR_UNIFORM,
    Chart,
    Claim,
    Panel,
    Section,
    Size,
    Table,
    interval,
    number,
    rounds_text,
)
from driftduel.study.fits import Floats, label, line, mean_of, over, ratio
from driftduel.study.fits import setting as of

__all__ = ["NAME", "analyse", "plans"]

NAME = "noise"
FLAT = 1.2
"""A ratio of regrets between 1 / 1.2 and this, interval and all, is called flat."""
_OURS = "anaconda:constant=0.5"
# (horizon, runs, how many rounds the losers keep their order; 0 for ever)
_SIZES: dict[Size, tuple[int, int, tuple[int, ...]]] = {
    "tiny": (3_000, 2, (0, 100, 1)),
    "quick": (1_000_000, 4, (0, 10_000, 100, 1)),
    "full": (10_000_000, 6, (0, 100_000, 1_000, 30, 1)),
}


def _switches(world: str) -> int:
    """Return S^P: swaps of the losers, and those switches of the winner that are not among them."""
    rounds = int(of(world, "rounds"))
    if world.startswith("alternating") or int(of(world, "every")) == 1:
        return rounds - 1
    phases, every = int(of(world, "phases")), int(of(world, "every")) or rounds
    changes = {1 + i * rounds // phases for i in range(1, phases)}
    return len(changes.union(range(every + 1, rounds + 1, every)))


def plans(size: Size) -> list[Plan]:
    """Return one plan for each level of noise, as rivals are told a number that depends on it."""
    rounds, runs, levels = _SIZES[size]
    worlds = [
        f"study-noise:rounds={rounds},phases={phases},every={every}"
        for phases in (5, 1)
        for every in levels
    ]
    made = []
    for world, told in [(w, _switches(w)) for w in worlds] + [
        (f"alternating:rounds={rounds}", rounds - 1)
    ]:
        # A variation, which it does not use, saves DEX3.S from being told the true one.
        policies = (_OURS, f"mdb:switches={told}", f"dex3s:switches={told},variation=0", "uniform")
        made.append(make_plan([world], policies, runs, (1,), imports=(MODULE,)))
    return made


def analyse(games: pl.DataFrame) -> Section:
    """Fit regret and restarts against S^P."""
    told = [_switches(world) for world in games["world"]]
    kinds = [Spec.parse(policy).name for policy in games["policy"]]
    games = games.with_columns(pl.Series("told", told), pl.Series("kind", kinds))
    rounds = float(games["rounds"][0])
    remark = games.filter(pl.col("world").str.starts_with("alternating"))
    family = games.filter(~pl.col("world").str.starts_with("alternating"))
    claims, panels, rows = [], [], []
    for phases in (5, 1):
        chosen = family.filter(
            pl.col("world").map_elements(lambda w: of(w, "phases"), return_dtype=pl.Int64) == phases
        )
        base = over(chosen.filter(kind="uniform"), lambda row: row["told"])[1][0]
        lines, counts = [], []
        for style, kind in enumerate(("anaconda", "mdb", "dex3s", "uniform")):
            part = chosen.filter(kind=kind)
            xs, samples = over(part, lambda row: row["told"] + 1)
            _, restarts = over(part, lambda row: row["told"] + 1, "restarts")
            lines.append(line(_name(kind), xs, samples, style))
            if kind in ("anaconda", "mdb"):
                counts.append(line(_name(kind), xs, restarts, style))
            for x, sample, again in zip(xs, samples, restarts, strict=True):
                mean = mean_of(sample)
                rows.append(
                    [
                        str(phases - 1), f"{x - 1:,.0f}", _name(kind), number(mean.value),
                        interval(mean.low, mean.high), number(float(again.mean())),
                    ]
                )  # fmt: skip
            if kind != "uniform":
                claims.append(_claim(kind, phases, xs, samples, base, rounds))
        panels += [
            Panel(f"regret, S^CW = {phases - 1}", "S^P + 1", "dynamic regret", lines),
            Panel(f"restarts, S^CW = {phases - 1}", "S^P + 1", "restarts", counts, y_log=False),
        ]
    claims.append(_remark_claim(remark, rounds))
    head = ["S^CW", "S^P", "policy", "regret", "95 % interval", "restarts"]
    text = (
        "Three arms; the winner beats both others with probability 0.8, and these two swap their "
        "order more and more often, up to every round. MDB and DEX3.S are told S^P, which is what "
        "their guarantees are about; ANACONDA (C = 0.5) is told nothing but T."
    )
    title = f"Noise among the losers, T = {rounds_text(rounds)}"
    chart = Chart("noise", title, panels, "Bands are 95 % intervals over runs.")
    return Section(
        2, "Background noise", text, claims, [Table(title, head, rows)], [chart],
        "longer horizons, for which DEX3.S is too slow.",
    )  # fmt: skip


def _name(kind: str) -> str:
    return label(_OURS) if kind == "anaconda" else label(kind) + (
        ", told S^P" if kind in ("mdb", "dex3s") else ""
    )  # fmt: skip


def _claim(
    kind: str, phases: int, xs: list[float], samples: list[Floats], base: Floats, rounds: float
) -> Claim:
    last = ratio(samples[-1], samples[0])
    share = float(samples[0].mean() / base.mean())
    low, high, ours = last.low, last.high, kind == "anaconda"
    if low is None or high is None:
        verdict = "undecided: too few runs for an interval"
    elif share > NEAR_UNIFORM:
        verdict = f"not seen up to T = {rounds_text(rounds)}: still near uniform play"
    elif (low > 1 / FLAT and high < FLAT) if ours else low > FLAT:
        verdict = "holds"
    elif (low > FLAT or high < 1 / FLAT) if ours else high < FLAT:
        verdict = f"not seen up to T = {rounds_text(rounds)}"
    else:
        verdict = f"undecided: the interval contains {FLAT if high > FLAT else number(1 / FLAT)}"
    statement = (
        f"regret does not depend on S^P, within a factor of {FLAT}"
        if ours
        else f"{_name(kind)}, degrades as S^P grows"
    )
    return Claim(
        "Remark 2.1, Theorem 3.1" if ours else "Section 3",
        f"{statement} (S^CW = {phases - 1})",
        f"{number(last.value)} times the regret at S^P = {xs[-1] - 1:,.0f} as at {xs[0] - 1:,.0f}",
        interval(low, high),
        verdict,
    )


def _remark_claim(remark: pl.DataFrame, rounds: float) -> Claim:
    part = remark.filter(kind="anaconda")
    uniform = remark.filter(kind="uniform")["regret"].to_numpy()
    share = ratio(part["regret"].to_numpy(), uniform)
    restarts = sum(len(each) for each in part["restarts"].to_list())
    seen = share.high is not None and share.high < NEAR_UNIFORM and restarts == 0
    return Claim(
        "Remark 2.1",
        "the remark's own example (S^P = T - 1, S^CW = 0) is learned without restarts",
        f"{restarts} restarts in {len(part)} runs; {share.value:.0%} of uniform play's regret",
        interval(share.low, share.high),
        "holds" if seen else f"not seen up to T = {rounds_text(rounds)}: still near uniform play"
        if restarts == 0 else f"not seen up to T = {rounds_text(rounds)}",
    )  # fmt: skip
