"""Give inputs to processes that may be lost, and report what is wrong with what comes out."""

import argparse
import collections
import os
import subprocess
import sys
import time
from collections.abc import Sequence

_BATCH = 500  # inputs a process is given; what one leaves in it, the next may stumble over
# Plain Python: nothing to compile, and an index that is wrong is an error at once. Most of what is
# done with a log is to fit it, for which compiled kernels that check every index are far faster.
_PLAIN = {"NUMBA_DISABLE_JIT": "1"}
_CHECKED = {"NUMBA_BOUNDSCHECK": "1"}
_KERNELS = {"logs": _CHECKED}


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 1 if an input was answered wrongly."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many (100,000)")
    parser.add_argument("--seed", type=int, default=0, help="which (0)")
    parser.add_argument("--first", type=int, default=0, help="go on from this one (0)")
    parser.add_argument("--only", type=int, help="this one, with all that is said about it")
    parser.add_argument("--surface", help="only inputs for this one, such as logs")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.surface is not None:
        from tests.fuzz.inputs import SURFACES

        if arguments.surface not in SURFACES:
            parser.error(f"--surface {arguments.surface!r} is none of {', '.join(SURFACES)}")
    if arguments.worker:
        return _work(arguments.seed, arguments.surface, *arguments.worker)
    if arguments.only is not None:
        return _show(arguments.seed, arguments.surface, arguments.only)
    return _watch(arguments)


def _work(seed: int, surface: str | None, first: int, end: int) -> int:
    """Judge inputs, a line each: before one is tried its number, and what is wrong with it."""
    from tests.fuzz.inputs import draw
    from tests.fuzz.judge import judged, prepare

    lines = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    prepare()
    for number in range(first, end):
        print(f"? {number}", file=lines)
        given = draw(seed, number, surface)
        wrong, how = judged(given)
        print(f"= {how} {given.surface}", file=lines)
        if wrong:
            print(f"! {number} {wrong!r}", file=lines)
    print("done", file=lines)
    return 0


def _show(seed: int, surface: str | None, number: int) -> int:
    from tests.fuzz.inputs import draw
    from tests.fuzz.judge import judged, prepare

    given = draw(seed, number, surface)
    print(f"surface: {given.surface}\nargv:    {given.argv}\ncall:    {given.call}")
    for name, content in given.files.items():
        print(f"file:    {name!r} {content[:2000]!r}")
    prepare()
    wrong, how = judged(given)
    print(f"answer:  {how}\nwrong:   {wrong}")
    return 1 if wrong else 0


class _Process:
    """A process with a batch of inputs."""

    def __init__(
        self, seed: int, first: int, end: int, surface: str | None = None, compiled: bool = False
    ) -> None:
        self.first, self.end = first, end
        kernels = _CHECKED if compiled else _KERNELS.get(surface or "", _PLAIN)
        which = ["--seed", str(seed), *([] if surface is None else ["--surface", surface])]
        which += ["--worker", str(first), str(end)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", *which],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="backslashreplace",
            env={**os.environ, **kernels, "MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1",
                 "POLARS_MAX_THREADS": "1"},
        )  # fmt: skip

    def result(self, answers: collections.Counter[str]) -> tuple[int, list[tuple[int, str]]]:
        """Wait; return where to go on from, and what was wrong; count the answers."""
        out, err = self.process.communicate()
        current, wrong = self.first, []
        for line in out.splitlines():
            mark, _, rest = line.partition(" ")
            if mark == "?":
                current = int(rest)
            elif mark == "=":
                answers[rest] += 1
            elif mark == "!":
                number, _, what = rest.partition(" ")
                wrong.append((int(number), what))
            elif mark == "done":
                return self.end, wrong
        how = f"the process ended with {self.process.returncode}: {err[-2000:]!r}"
        return current + 1, [*wrong, (current, how)]


def _watch(arguments: argparse.Namespace) -> int:
    from concurrent.futures import ThreadPoolExecutor

    begun = time.monotonic()
    end = arguments.first + arguments.inputs
    batches = [(n, min(n + _BATCH, end)) for n in range(arguments.first, end, _BATCH)]
    wrong: list[tuple[int, str]] = []
    answers: collections.Counter[str] = collections.Counter()
    done = 0

    def batch(span: tuple[int, int]) -> list[tuple[int, str]]:
        first, last = span
        found = []
        while first < last:
            first, more = _Process(arguments.seed, first, last, arguments.surface).result(answers)
            for number, what in more:
                # A fit by plain Python may take minutes: only one that is slow compiled is wrong.
                again = [(number, what)]
                if "no end after" in what:
                    one = _Process(arguments.seed, number, number + 1, arguments.surface, True)
                    _, again = one.result(collections.Counter())
                found += again
        return found

    with ThreadPoolExecutor(arguments.workers) as pool:
        for span, found in zip(batches, pool.map(batch, batches), strict=True):
            wrong += found
            done += span[1] - span[0]
            for number, what in found:
                print(f"input {number}: {what}", flush=True)
            if sys.stderr.isatty() or done % 5000 == 0:
                rate = done / (time.monotonic() - begun)
                print(f"{done:,} inputs, {rate:.0f} a second, {len(wrong)} wrong", file=sys.stderr)
    seconds = time.monotonic() - begun
    print(f"{done:,} inputs in {seconds:,.0f} s (seed {arguments.seed}): {len(wrong)} wrong")
    for surface in sorted({answer.partition(" ")[2] for answer in answers}):
        taken, refused = (answers[f"{how} {surface}"] for how in ("taken", "refused"))
        print(f"  {surface:<15} {taken:6,} taken {refused:6,} refused")
    kinds = collections.Counter(what.splitlines()[-1][-100:] for _, what in wrong)
    for what, count in kinds.most_common(20):
        print(f"  {count:5} {what}")
    if wrong:
        which = f"--seed {arguments.seed}"
        if arguments.surface is not None:
            which += f" --surface {arguments.surface}"
        print(f"again, with all of it: python -m tests.fuzz {which} --only N")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
