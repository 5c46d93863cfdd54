"""Play the experiments through the lab, and write the results."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from driftduel import __version__
from driftduel._internal.files import atomic_write
from driftduel._internal.pages import environment
from driftduel._internal.reading import parse_json, read_text
from driftduel.errors import DriftduelError
from driftduel.lab import Plan, ProgressListener
from driftduel.lab.duration import estimate
from driftduel.lab.experiment import open_results, play_cells
from driftduel.lab.store import Store
from research.stamps import stamp
from research.study import constants, lemmas, noise, rate, rivals, significant, variation
from research.study.charts import draw
from research.study.common import Size
from research.study.page import Study, as_html, as_markdown, merged, read_study

__all__ = [
    "EXPERIMENTS",
    "budget",
    "record_in",
    "run_study",
    "write_calibration",
    "write_docs",
    "write_study",
]

EXPERIMENTS: dict[str, Any] = {
    module.NAME: module
    for module in (rate, noise, significant, variation, lemmas, constants, rivals)
}
"""By name: a module with `plans` and `analyse`, and `observe` where games are watched closely."""

_COLUMNS = (
    "world", "policy", "seed", "run", "game_seed", "rounds", "arms", "regret", "restarts",
    "switches", "finished_at", "seconds_cell",
)  # fmt: skip
Progress = Callable[[str], None]


def _chosen(only: Sequence[str] | None) -> dict[str, Any]:
    for name in only or ():
        if name not in EXPERIMENTS:
            raise DriftduelError(
                f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}."
            )
    return {name: made for name, made in EXPERIMENTS.items() if not only or name in only}


def _planned(size: Size, out: Path, only: Sequence[str] | None) -> Iterator[tuple[str, Path, Plan]]:
    for name, module in _chosen(only).items():
        for i, plan in enumerate(module.plans(size)):
            yield name, out / "lab" / size / f"{name}-{i}", plan


def budget(
    size: Size, out: str | Path, only: Sequence[str] | None = None
) -> list[tuple[str, int, int, int, float]]:
    """Return for each experiment: games, games finished, rounds and core seconds still to play.

    Games of a kind without a finished game are timed by a short trial.
    """
    rows: dict[str, list[float]] = {}
    for name, folder, plan in _planned(size, Path(out), only):
        store = Store(folder) if (folder / "plan.json").exists() else None
        expected = estimate(list(plan.cells()), store)
        row = rows.setdefault(name, [0, 0, 0, 0.0])
        for _, _, cells, finished, rounds, seconds in expected.iter_rows():
            row[0] += cells
            row[1] += finished
            row[2] += (cells - finished) * rounds
            row[3] += (cells - finished) * (seconds or 0.0)
    return [(name, int(a), int(b), int(c), d) for name, (a, b, c, d) in rows.items()]


def run_study(
    size: Size,
    out: str | Path,
    watch: ProgressListener | None = None,
    *,
    only: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Play what `out` does not have yet, analyse it, and write page, Markdown and figures.

    Parameters
    ----------
    size
        ``tiny`` (seconds, shows nothing), ``quick`` (minutes) or ``full``.
    out
        The folder. Games are kept in ``lab``; stopping and starting again loses none.
    watch
        Listener to the progress.
    only
        Names of experiments; all unless given.
    workers
        Games at a time; as many as there are processors unless given.
    progress
        Called with a few words before each longer step.
    """
    environment("research.study")  # an error about missing extras must precede long work
    out = Path(out)
    say = progress or (lambda text: None)
    frames: dict[str, list[pl.DataFrame]] = {}
    missing, seeds = 0, set[int]()
    for name, folder, plan in _planned(size, out, only):
        say(f"experiment {name}, {folder.name}: {len(plan):,} games")
        results = open_results(plan, folder, replan=True)
        play_cells(results, list(plan.cells()), workers=workers, watch=watch)
        frame = results.store.rows(_COLUMNS)
        missing += len(plan) - len(frame)
        seeds |= set(plan.seeds)
        place = len(frames.setdefault(name, []))
        frames[name].append(frame.with_columns(pl.lit(place).alias("plan")))
    sections = []
    for name, module in _chosen(only).items():
        games = pl.concat(frames[name])
        say(f"experiment {name}: analysis")
        if hasattr(module, "observe"):
            seen = _kept(out / "lab" / size / f"{name}-observed.json", module.observe, size, say)
            sections.append(module.analyse(games, seen))
        else:
            sections.append(module.analyse(games))
    games = pl.concat([frame for each in frames.values() for frame in each])
    study = Study(
        size, __version__, str(games["finished_at"].max())[:10], sorted(seeds), len(games),
        int(games["rounds"].sum()), missing, sections,
        seconds={
            section.number: float(pl.concat(frames[name])["seconds_cell"].sum())
            for name, section in zip(_chosen(only), sections, strict=True)
        },
    )  # fmt: skip
    write_study(study, out, say)
    return study


def _kept(path: Path, observe: Callable[..., Any], size: Size, say: Progress) -> Any:
    """Observe, or read the observations of an earlier run of the same version."""
    if path.exists():
        try:
            record = parse_json(read_text(path))
            seen, digest = record["seen"], record["digest"]
            if (record["version"], record["size"]) == (__version__, size):
                if digest == _digest(seen):
                    return seen
                raise DriftduelError("its content does not match its digest.")
        except (DriftduelError, KeyError, TypeError) as error:
            reason = error if isinstance(error, DriftduelError) else "it is no note of a study."
            say(f"{path} is damaged and made again: {reason}")
    seen = parse_json(json.dumps(observe(size, say)))
    with atomic_write(path) as temporary:
        record = {"version": __version__, "size": size, "digest": _digest(seen), "seen": seen}
        temporary.write_text(json.dumps(record), encoding="utf-8")
    return seen


def _digest(seen: Any) -> str:
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def write_study(study: Study, out: Path, say: Progress = lambda text: None) -> None:
    """Write ``study.json``, ``study.md``, ``study.html`` and ``figures``."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for section in study.sections:
        for chart in section.charts:
            say(f"figure {chart.name}")
            paths = [folder / f"{chart.name}.{ending}" for ending in ("png", "svg")]
            draw(chart, paths)
            pictures[chart.name] = paths[1].read_text("utf-8")
    texts = {
        "study.json": json.dumps(study.as_dict(), indent=1) + "\n",
        "study.md": as_markdown(study),
        "study.html": as_html(study, pictures),
    }
    for name, text in texts.items():
        with atomic_write(out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def write_calibration(study: Study, path: Path) -> None:
    """Write the calibration of C as ``anaconda:rule=calibrated`` reads it.

    Parameters
    ----------
    study
        One with the experiment ``lemmas``.
    path
        The file; `driftduel.policies` ships one of a full run.
    """
    rows = [row for section in study.sections for row in section.data.get("calibration", [])]
    if not rows:
        raise DriftduelError("A calibration needs the experiment lemmas, with a C that was safe.")
    made = f"driftduel study --{study.size}, driftduel {study.version}, {study.date}"
    with atomic_write(path) as temporary:
        text = json.dumps({"made": made, "rows": rows}, indent=1) + "\n"
        temporary.write_text(text, encoding="utf-8")


def write_docs(study: Study, out: Path, docs: Path, because: str | None = None) -> None:
    """Write ``study.json``, ``study.md`` and the pictures it shows into a folder of documentation.

    Parameters
    ----------
    study
        What `run_study` returned.
    out
        Where it wrote its figures.
    docs
        A folder like ``research``: the data goes to ``records`` in it, the page to ``pages``, its
        pictures to ``pages/study``.
    because
        Why these sections were played again: they replace those in the present
        ``study.json`` and keep its other sections.
    """
    record, page = record_in(docs), docs / "pages" / "study.md"
    whole = study if because is None else merged(read_study(record), study, because)
    record.parent.mkdir(exist_ok=True)
    (page.parent / "study").mkdir(parents=True, exist_ok=True)
    for section in study.sections:
        for chart in section.charts:
            with atomic_write(page.parent / "study" / f"{chart.name}.png") as temporary:
                temporary.write_bytes((out / "figures" / f"{chart.name}.png").read_bytes())
    texts = {
        record: json.dumps(whole.as_dict(), indent=1) + "\n",
        page: as_markdown(whole, figures="study"),
    }
    for path, text in texts.items():
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    _stamp(study, record)


def record_in(docs: Path) -> Path:
    """Return the path of the data of a study in a folder like ``research``."""
    return docs / "records" / "study.json"


def _stamp(study: Study, record: Path) -> None:
    """Stamp the sections that were played with the code of their policies and worlds."""
    for number, (name, module) in enumerate(EXPERIMENTS.items(), start=1):
        if number not in {section.number for section in study.sections}:
            continue
        plans: list[Plan] = module.plans(study.size)
        stamp(
            record,
            pages=["docs/research/study.md", "research/pages/study.md"],
            command=f"python -m research.study --{study.size} --only {name} --docs research "
            "--because TEXT",
            part=f"section {number}",
            policies=[each.spec for plan in plans for each in plan.policies],
            worlds=[each.spec for plan in plans for each in plan.worlds],
            seconds=study.seconds.get(number),
        )
