"""Let a program judge duels: it reads JSON lines and writes picks.

A line to the program is an object with `id`, `prompt`, `a` and `b` (of a slate also `c` to `f`);
prompt and answers are objects with `kind` and `content`, and the prompt may be null. The order of
the answers is drawn at random. For each line the program writes one with the same `id`, and `pick`:
the letter of an answer, ``tie``, ``both-bad`` or ``skip``; `reason` is optional. It must flush its
output after each line.

Each job has a separate process, which gets the next line after its answer to the last one. A
process that ends, is too slow or writes something else is replaced, and the duel is tried again.
"""

import json
import queue
import shlex
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from driftduel.arena.judge_agreement import ORDERS
from driftduel.arena.problems import ArenaError
from driftduel.arena.responses import Option, ShownDuel
from driftduel.arena.tags import JUDGE, LONGEST_REASON, check_tags
from driftduel.errors import DriftduelError

if TYPE_CHECKING:
    from driftduel.arena.arena import Arena
    from driftduel.arena.client import ArenaClient

__all__ = ["Judged", "judge"]

_LETTERS = "abcdef"
_RENEW_SECONDS = 20.0
_LONGEST_LINE = 1 << 20
_MOST_FAILURES = 5  # duels in a row without an answer, after which the judge is stopped
_OTHER_PICKS = ("tie", "both-bad", "skip")


class Judged(NamedTuple):
    """What a judge did."""

    votes: int
    failed: int
    """Duels without a valid answer after all tries; they were released."""
    ended: str
    """Why the judge stopped: ``nothing left``, ``enough``, ``closed`` or ``failures``."""
    failure: str = ""
    """Why the last failed duel had no answer."""


class _JudgeError(Exception):
    """The program gave no valid answer."""


class _Process:
    """One process of the program; a thread reads its output."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise DriftduelError(
                f"the command {command[0]!r:.80} cannot be run: {error.strerror}."
            ) from None
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            while line := self._process.stdout.readline(_LONGEST_LINE):
                self._lines.put(line)
        self._lines.put(None)

    def answer(self, request: dict[str, Any], seconds: float, wait: Callable[[], None]) -> Any:
        """Send a request and return the decoded answer; `wait` is called while it is awaited."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise _JudgeError("the program has ended") from None
        left = seconds
        while True:
            try:
                line = self._lines.get(timeout=min(left, _RENEW_SECONDS))
            except queue.Empty:
                left -= _RENEW_SECONDS
                if left <= 0:
                    raise _JudgeError(f"no answer within {seconds:g} s") from None
                wait()
                continue
            if line is None:
                raise _JudgeError(f"the program has ended (exit code {self._process.wait()})")
            letters = tuple(key for key in request if key in _LETTERS)
            return self._decoded(line, request["id"], (*letters, *_OTHER_PICKS))

    @staticmethod
    def _decoded(line: bytes, wanted: str, picks: tuple[str, ...]) -> Any:
        try:
            answer = json.loads(line)
            pick, reason = answer["pick"], answer.get("reason") or ""
            fits = answer.get("id") == wanted and pick in picks and isinstance(reason, str)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            fits = False
        if not fits:
            raise _JudgeError(
                f"the answer {line[:80]!r} is not a JSON object with the id of its line and a pick "
                f"({', '.join(picks)})"
            )
        return pick, reason.replace("\0", "")[:LONGEST_REASON]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def judge(
    arena: "Arena | ArenaClient",
    name: str,
    command: str,
    *,
    votes: int | None = None,
    jobs: int = 1,
    retries: int = 2,
    seconds: float = 120.0,
    both_orders: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Judged:
    """Let a program vote until nothing is left, with the tag ``judge`` on its votes.

    Parameters
    ----------
    arena
        The arena; the judge is the voter ``judge:NAME``.
    name
        Name of the judge, the value of the tag.
    command
        Program and arguments, separated as in a shell; no shell is run.
    votes
        Maximum number of votes; None: no limit.
    jobs
        Number of processes that judge at the same time, from 1 to 16.
    retries
        Number of further tries of a duel without a valid answer.
    seconds
        Timeout of one answer.
    both_orders
        Whether to ask for each duel in both orders, for a slate in reverse order. Two different
        picks are a tie; the tag ``orders`` has both.
    progress
        Function that is called with the number of votes after each one.

    Raises
    ------
    DriftduelError
        If an argument is not valid, or the program cannot be started.
    """
    if not 1 <= jobs <= 16:
        raise DriftduelError(f"jobs={jobs} must be from 1 to 16.")
    if retries < 0 or seconds <= 0 or (votes is not None and votes < 1):
        raise DriftduelError("retries must be at least 0, votes at least 1, the timeout above 0.")
    check_tags({JUDGE: name})
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise DriftduelError(f"the command {command!r:.80} is not valid: {error}.") from None
    if not parts:
        raise DriftduelError("the command is empty; pass a program such as 'python judge.py'.")
    work = _JudgingState(arena, name, parts, votes, retries, seconds, both_orders, progress)
    threads = [threading.Thread(target=work.run, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        work.stop("interrupted")
        for thread in threads:
            thread.join()
        raise
    if work.error is not None:
        raise work.error
    return Judged(work.done, work.failed, work.ended, work.failure)


class _JudgingState:
    """The state that the threads of one judge share."""

    def __init__(
        self,
        arena: "Arena | ArenaClient",
        name: str,
        command: Sequence[str],
        votes: int | None,
        retries: int,
        seconds: float,
        both_orders: bool,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._arena, self._name, self._command = arena, name, command
        self._votes, self._retries, self._seconds = votes, retries, seconds
        self._both, self._progress = both_orders, progress
        self._lock = threading.Lock()
        self._begun = self._in_a_row = 0
        self.done = self.failed = 0
        self.ended = self.failure = ""
        self.error: BaseException | None = None

    def stop(self, why: str) -> None:
        """Let all threads end after their current duel."""
        with self._lock:
            self.ended = self.ended or why

    def run(self) -> None:
        """Judge duels until there is a reason to stop."""
        process: _Process | None = None
        try:
            while self._begin():
                shown = self._arena.ask(f"judge:{self._name}", tags={JUDGE: self._name})
                process = self._judge(shown, process)
        except ArenaError as error:
            known = {"nothing-left": "nothing left", "closed": "closed"}
            if error.problem in known:
                self.stop(known[error.problem])
            else:
                self._fail(error)
        except BaseException as error:
            self._fail(error)
        finally:
            if process is not None:
                process.close()

    def _begin(self) -> bool:
        with self._lock:
            if self._votes is not None and self._begun >= self._votes:
                self.ended = self.ended or "enough"
            if self.ended:
                return False
            self._begun += 1
            return True

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
            self.ended = self.ended or "failures"

    def _judge(self, shown: ShownDuel, process: _Process | None) -> _Process | None:
        """Vote on a duel, or release it after too many tries; return the process to go on with."""
        for _ in range(self._retries + 1):
            if self.ended == "interrupted":
                break
            try:
                process = process or _Process(self._command)
                pick, reason, tags = self._pick(shown, process)
            except _JudgeError as failure:
                self.failure = str(failure)
                if process is not None:
                    process.close()
                process = None
                continue
            self._arena.vote(shown.duel, pick, tags=tags, reason=reason)
            with self._lock:
                self.done, self._in_a_row = self.done + 1, 0
                if self._progress is not None:
                    self._progress(self.done)
            return process
        self._arena.release(shown.duel)
        with self._lock:
            self.failed += 1
            self._in_a_row += 1
            if self._in_a_row >= _MOST_FAILURES:
                self.ended = self.ended or "failures"
        return process

    def _pick(self, shown: ShownDuel, process: _Process) -> tuple[str, str, dict[str, str]]:
        """Return pick, reason and tags of a duel."""
        if shown.options:
            answers = dict(zip(_LETTERS, shown.options, strict=False))
        else:
            assert shown.left is not None
            assert shown.right is not None
            answers = {"left": shown.left, "right": shown.right}

        def ask(names: list[str]) -> tuple[str, str]:
            prompt = shown.prompt
            letters = dict(zip(_LETTERS, names, strict=False))
            request = {
                "id": f"{shown.duel}/{names[0]}",
                "prompt": None
                if prompt is None
                else {"kind": prompt.kind, "content": prompt.content},
                **{letter: _content(answers[name]) for letter, name in letters.items()},
            }
            pick, why = process.answer(
                request, self._seconds, lambda: _renew(self._arena, shown.duel)
            )
            return letters.get(pick, pick), why

        pick, reason = ask(list(answers))
        if not self._both or pick == "skip":
            return pick, reason, {}
        other, _ = ask(list(reversed(answers)))
        tags = {ORDERS: f"{pick}/{other}"}
        return (pick if pick == other else "skip" if other == "skip" else "tie"), reason, tags


def _content(option: Option) -> dict[str, str]:
    """Return what the program sees of an option: never its id; its name only without content."""
    content = option.content or option.name
    return {"kind": option.kind, "content": content}


def _renew(arena: "Arena | ArenaClient", duel: str) -> None:
    with suppress(DriftduelError):  # the vote will show whether the duel still exists
        arena.renew(duel)
