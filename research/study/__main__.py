"""Measure the paper's claims: play the experiments, and write a page with figures.

It can be stopped at any time: the same command goes on where it was.
"""

import argparse
import sys
from collections.abc import Sequence

from driftduel._internal.wording import counted, duration
from driftduel.cli.signals import with_resume_hint
from driftduel.errors import DriftduelError

__all__ = ["configure", "main", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="takes a few minutes (default)")
    size.add_argument("--full", action="store_true", help="takes about an hour on two cores")
    size.add_argument("--tiny", action="store_true", help="takes seconds; shows only that it runs")
    parser.add_argument(
        "--out", metavar="DIR", default="study", help="where the page and its games go (study)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="only this experiment, such as rate; may be repeated",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the plan and how long it would take"
    )
    parser.add_argument(
        "--docs",
        metavar="DIR",
        help="also write records/study.json, pages/study.md and its pictures here",
    )
    parser.add_argument(
        "--because",
        metavar="TEXT",
        help="with --only and --docs: keep the other sections there; the reason why these "
        "were played again",
    )
    parser.add_argument(
        "--calibration", metavar="FILE", help="also write the safe values of C to this JSON file"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="how many games at a time (one a processor)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Play and write, or show the budget."""
    import warnings
    from pathlib import Path

    from driftduel.cli.terminal import bold
    from driftduel.cli.text import wrapped
    from driftduel.errors import WeakSpotWarning
    from driftduel.lab.engines.base import cores
    from driftduel.lab.progress import Display
    from research.study import budget, run_study, write_calibration, write_docs
    from research.study.common import Size

    size: Size = "full" if arguments.full else "tiny" if arguments.tiny else "quick"
    if arguments.workers is not None and arguments.workers < 1:
        raise DriftduelError(f"workers={arguments.workers} must be a whole number at least 1.")
    workers = arguments.workers or cores()
    _check_targets(arguments, size)
    # Weak spots of rivals are part of what the study shows.
    warnings.simplefilter("ignore", WeakSpotWarning)
    if arguments.dry_run:
        _show(budget(size, arguments.out, arguments.only), workers)
        return

    def say(text: str) -> None:
        print(f"driftduel: {text}", file=sys.stderr, flush=True)

    display = Display()
    try:
        with with_resume_hint(arguments.out):
            study = run_study(
                size, arguments.out, display, only=arguments.only, workers=workers, progress=say
            )
    finally:
        display.close()
    if arguments.docs:
        write_docs(study, Path(arguments.out), Path(arguments.docs), arguments.because)
    if arguments.calibration:
        write_calibration(study, Path(arguments.calibration))
    for section in study.sections:
        print(f"\n{bold(f'{section.number}. {section.title}')}")
        for claim in section.claims:
            print(wrapped(f"{claim.source}: {claim.statement}", "    ", first="  "))
            print(bold(f"    {claim.verdict}"))
    print(f"\npage:     {Path(arguments.out) / 'study.html'}")
    if study.missing:
        raise SystemExit(1)


def _check_targets(arguments: argparse.Namespace, size: str) -> None:
    """Raise errors that would otherwise occur after the last game."""
    from pathlib import Path

    from research.study import lemmas, read_study, record_in

    if arguments.docs and not Path(arguments.docs).is_dir():
        raise DriftduelError(f"docs={arguments.docs!r} must be a folder that exists.")
    record = record_in(Path(arguments.docs or ""))
    there = bool(arguments.docs) and record.exists()
    if arguments.because is not None and not (arguments.only and there):
        raise DriftduelError(
            "--because is the reason why some sections of a study were played again: it needs "
            "--only, and --docs with a folder that has records/study.json."
        )
    if arguments.only and there and not arguments.because:
        raise DriftduelError(
            f"{arguments.docs} has a study: add --because with the reason why some of its sections "
            f"were played again, to keep the others."
        )
    if arguments.because:
        before = read_study(record)
        if before.size != size:
            raise DriftduelError(
                f"the study in {arguments.docs} is --{before.size}; --{size} cannot be put into it."
            )
    if not arguments.calibration:
        return
    folder = Path(arguments.calibration).parent
    if not folder.is_dir():
        raise DriftduelError(f"calibration={arguments.calibration!r}: there is no folder {folder}.")
    if arguments.only and lemmas.NAME not in arguments.only:
        raise DriftduelError(f"A calibration needs the experiment {lemmas.NAME}; add it to --only.")


def _show(rows: list[tuple[str, int, int, int, float]], workers: int) -> None:
    from driftduel.cli.text import show_table

    lines = [
        (name, f"{games:,}", f"{finished:,}", f"{rounds:,}", duration(seconds))
        for name, games, finished, rounds, seconds in rows
    ]
    head = ("experiment", "games", "finished", "rounds to play", "core time")
    show_table(lines, head, right="1234")
    total = sum(row[4] for row in rows)
    print(f"\nestimate   {duration(total / workers)} with {counted(workers, 'worker')}")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    from driftduel.cli.streams import configure_streams

    configure_streams()
    parser = argparse.ArgumentParser(
        prog="python -m research.study", description=(__doc__ or "").partition("\n")[0]
    )
    configure(parser)
    try:
        run(parser.parse_args(words))
    except DriftduelError as error:
        print(f"research.study: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
