"""Do what an input says, and tell what is wrong with what came of it."""

import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from driftduel import cli
from driftduel.errors import DriftduelError
from driftduel.logs.schemas import validate
from driftduel.specs import Range
from tests.fuzz.inputs import MOST_ROUNDS, Input

__all__ = ["REFUSED", "TAKEN", "judged", "prepare"]

TAKEN, REFUSED, WRONG = "taken", "refused", "wrong"
CODES = {0, 1, 2}  # 1: a cell of a plan failed, which is said in the table
_SECONDS = 60  # of this process's own time: a busy machine does not make an input slow
_BYTES = 6 << 30


class Hang(BaseException):
    """An input took far too long."""


def prepare() -> None:
    """Make this process one that no input can harm: bounded memory, time and games."""
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def stop(*_: object) -> NoReturn:
        raise Hang

    signal.signal(signal.SIGVTALRM, stop)
    from driftduel.worlds import WORLDS

    # The sizes that are sound but take long are left to those who have time.
    small = {"rounds": MOST_ROUNDS, "phases": MOST_ROUNDS, "knots": MOST_ROUNDS, "arms": 12}
    for entry in list(WORLDS):
        parameters = []
        for parameter in entry.parameters:
            if parameter.name in small and isinstance(parameter.allowed, Range):
                most = small[parameter.name]
                default = parameter.default
                if isinstance(default, int):
                    default = min(default, most)
                allowed = replace(parameter.allowed, high=most)
                parameter = replace(parameter, default=default, allowed=allowed)  # noqa: PLW2901
            parameters.append(parameter)
        WORLDS.remove(entry.name)
        WORLDS.add(replace(entry, parameters=tuple(parameters)))


def judged(given: Input) -> tuple[str | None, str]:
    """Return what is wrong with what came of an input, or None; and how it was answered."""
    folder = Path(tempfile.mkdtemp(prefix="driftduel-fuzz-"))
    before = Path.cwd()
    try:
        for name, content in given.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        os.chdir(folder)
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
        try:
            wrong, how = _called(given) if given.call else _commanded(given)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        left = [str(path) for path in folder.rglob("*.part")]
        return wrong or (f"left behind: {left}" if left else None), how
    except Hang:
        return f"no end after {_SECONDS} s of work", WRONG
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def _commanded(given: Input) -> tuple[str | None, str]:
    there = set(Path().rglob("*"))
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code: Any = cli.main(given.argv)
    except SystemExit as stop:
        code = 0 if stop.code is None else stop.code
    except Exception:
        return traceback.format_exc(), WRONG
    out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)
    new = {path for path in Path().rglob("*") if path.is_file()} - there
    return _wrong(given, code, out, err, new), TAKEN if code == 0 else REFUSED


def _wrong(given: Input, code: Any, out: str, err: str, new: set[Path]) -> str | None:
    """Say what is wrong with a command's answer."""
    lines = err.splitlines()
    if code not in CODES:
        return f"exit code {code}; {err}"
    sentences = lines
    if given.argv[0] == "log":  # what was noticed while reading is a list: its lines are indented
        sentences = [line for line in lines if not line.startswith("  ")]
    if "Traceback" in err or not all(line.startswith("driftduel: ") for line in sentences):
        return f"not a sentence: {err[-2000:]!r}"
    if len(err) > 20_000:
        return f"too much is said: {len(err):,} letters, {err[:300]!r}"
    if "encountered" in err or "overflow" in err:
        return f"a number went wrong: {err[-2000:]!r}"
    if "memory" in re.sub(r"memory[:=]", "", err):  # a store, or a key of a world
        return f"it took too much memory: {err!r}"
    if code == 2:
        if not lines or not lines[-1].endswith((".", "?")):
            return f"exit code 2, and no sentence: {err!r}"
        if len(lines[-1]) > 1500:
            return f"a sentence of {len(lines[-1])} letters: {err[:300]!r}"
        if given.argv[0] in ("measure", "play", "trace") and new:
            return f"exit code 2, and files were written: {sorted(map(str, new))}"
    elif code == 0 and "--json" in given.argv and out.startswith(("{", "[")):
        try:
            json.loads(out, parse_constant=_no_number)
            if given.argv[0] == "log":
                validate(given.argv[1], out)
        except ValueError as error:
            return f"no JSON: {error}"
    return None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} in it")


def _called(given: Input) -> tuple[str | None, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CALLS[given.call]()
    except DriftduelError as error:
        text = str(error)
        sentence = "\n" not in text and text.endswith((".", "?"))
        return None if sentence else f"not a sentence: {text!r}", REFUSED
    except Exception:
        return traceback.format_exc(), WRONG
    return None, TAKEN


def load_and_play() -> None:
    """Load a saved policy; one that loads must be able to go on."""
    from driftduel.policies import load_policy

    policy = load_policy("p.npz")
    for _ in range(12):
        duel = policy.ask()
        assert 0 <= duel.first < policy.arms, duel
        assert 0 <= duel.second < policy.arms, duel
        policy.tell(duel, duel.second)


def tell_from_json() -> None:
    """Answer a duel that came back as JSON."""
    from driftduel.policies import Duel, make_policy

    policy = make_policy("dts", 3)
    for _ in range(6):
        policy.ask()
    text = Path("duel.json").read_bytes().decode("utf-8", "surrogatepass")
    duel = Duel.from_json(text)
    policy.tell(duel, duel.first)


def read_note() -> None:
    """Read a study's note, or make it again."""
    from research.study import running

    def observe(size: str, say: Callable[[str], None]) -> dict[str, int]:
        return {"again": 1}

    seen = running._kept(Path("note.json"), observe, "tiny", lambda text: None)
    assert seen == {"again": 1}, seen


def ask_arena() -> None:
    """Send requests to an arena's server."""
    from tests.fuzz.arena_answers import ask_arena as ask

    ask()


CALLS: dict[str, Callable[[], None]] = {
    "load_and_play": load_and_play,
    "tell_from_json": tell_from_json,
    "read_note": read_note,
    "ask_arena": ask_arena,
}

if sys.platform == "win32":  # pragma: no cover
    raise SystemExit("fuzzing needs signals and limits that Windows does not have")
