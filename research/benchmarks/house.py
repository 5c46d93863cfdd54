"""Measures of the source's structure: indicators of places to look at, not criteria of quality.

- crossings: distinct pairs (caller, called) of functions in different packages, while `compare` is
  followed by `report`, and during calls of `ask` and `tell`. Imports do not count. Calls of tools,
  which are independent of the problem (number formats, files, specs, ...), are counted separately.
- doors: the pairs of packages, tools excluded, between which the first of these flows crosses.
- lines of code: without imports, comments, docstrings and blank lines.
- imports past a front door: of a package's modules from elsewhere, late and typed too.
- pairs of places: the same six or more lines of code; imports, comments, docstrings do not count.
- the longest files and functions, in lines; names that `dir(driftduel)` shows.

`python -m research.benchmarks.house [CHECKOUT ...]` measures these checkouts (this one by default),
side by side. A checkout is a folder, or a commit of this repository.
"""

import argparse
import ast
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import threading
import tokenize
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROWS = 6
LONGEST = 5
TOOLS = ("errors", "specs", "wording")
"""Packages independent of the problem, in addition to those with a leading underscore."""
WORLD = "geometric-btl:arms=4,rounds=2000"
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def is_tool(room: str) -> bool:
    """Return whether a package is independent of the problem."""
    return room[0] == "_" or room in TOOLS


def to_tools(calls: Counter[str]) -> int:
    """Return the number of crossings into a tool."""
    return sum(count for rooms, count in calls.items() if is_tool(rooms.partition(" > ")[2]))


def doors(calls: Counter[str]) -> int:
    """Return the number of pairs of packages with crossings, tools excluded."""
    return sum(not any(map(is_tool, rooms.split(" > "))) for rooms in calls)


def crossings(source: Path, flow: Callable[[], None]) -> Counter[str]:
    """Run a flow; count the distinct calls between functions of different packages, by pair."""
    inside = f"{source}/"

    def room(frame: FrameType) -> str | None:
        file = frame.f_code.co_filename
        if not file.startswith(inside) or frame.f_code.co_name == "<module>":
            return None
        return file[len(inside) :].split("/")[0].removesuffix(".py")

    calls: set[tuple[str, str, str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (called := room(frame)) is None:
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(inside):
            caller = caller.f_back  # through the standard library and what callers passed in
        if caller is not None and (calls_from := room(caller)) not in (None, called):
            names = (caller.f_code.co_qualname, frame.f_code.co_qualname)
            calls.add((str(calls_from), called, *names))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        flow()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Counter(f"{caller} > {called}" for caller, called, _, _ in calls)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard the output of a command."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield


def compare_to_page() -> None:
    """Play a small comparison from the command line, and write its page."""
    from driftduel.cli import main

    with tempfile.TemporaryDirectory() as folder, quiet():
        out = f"{folder}/results"
        policies = ["--policy", "king", "--policy", "dts"]
        main(
            ["compare", "--world", WORLD, *policies, "--runs", "3", "--workers", "1", "--out", out]
        )
        main(["report", out])


def ask_and_tell() -> None:
    """Call `ask` and `tell` of a policy for fifty duels."""
    from driftduel import make_policy

    policy = make_policy("king", 4, 1)
    for _ in range(50):
        duel = policy.ask()
        policy.tell(duel, duel.first)


def code_lines(path: Path) -> list[tuple[int, str]]:
    """Return a file's lines of code with their numbers: no imports, comments and docstrings."""
    text = path.read_text("utf-8")
    imports = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines: dict[int, list[tokenize.TokenInfo]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT and token.start[0] not in imports:
            lines[token.start[0]].append(token)
    return [
        (number, " ".join(token.string for token in tokens))
        for number, tokens in lines.items()
        if len(tokens) > 1 or tokens[0].type != tokenize.STRING
    ]


def pairs(files: list[Path]) -> list[tuple[str, int, str, int, int]]:
    """Return the places that share ROWS lines or more: file, line, file, line, lines."""
    code = [code_lines(path) for path in files]
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, lines in enumerate(code):
        for start in range(len(lines) - ROWS + 1):
            places[tuple(text for _, text in lines[start : start + ROWS])].append((number, start))
    shared = {
        (one, other)
        for alike in places.values()
        for index, one in enumerate(alike)
        for other in alike[index + 1 :]
        if one[0] != other[0] or other[1] - one[1] >= ROWS  # not a stretch and itself
    }
    rows = []
    for (file, line), (twin, there) in sorted(shared):
        if ((file, line - 1), (twin, there - 1)) in shared:
            continue  # the middle of a longer stretch
        length = ROWS
        while ((file, line + length - ROWS + 1), (twin, there + length - ROWS + 1)) in shared:
            length += 1
        at, other = code[file][line][0], code[twin][there][0]
        rows.append((str(files[file]), at, str(files[twin]), other, length))
    return sorted(rows, key=lambda row: -row[-1])


def past_front_doors(source: Path) -> list[str]:
    """Return the imports of a package's modules from outside this package."""
    packages = {path.parent.name for path in source.glob("*/__init__.py")} - {"_internal"}
    found = []
    for path in sorted(source.rglob("*.py")):
        own = path.relative_to(source).parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                continue
            for target in targets:
                root, package, module, *_ = [*target.split("."), "", ""]
                bypassed = source / package / module
                is_module = bypassed.is_dir() or bypassed.with_suffix(".py").is_file()
                if root == "driftduel" and package in packages - {own} and module and is_module:
                    found.append(f"{path.relative_to(source)}:{node.lineno}: {target}")
    return found


def repeated_classes(files: list[Path]) -> list[str]:
    """Return the class names that are defined more than once, leading underscores ignored."""
    names = Counter(
        node.name.lstrip("_")
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in names.items() if count > 1)


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the length of every function of a file, and its name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or 0) - node.lineno + 1, f"{path.stem}.{node.name}"


def measure(root: Path) -> dict[str, Any]:
    """Return the numbers of a checkout; its package must be the imported one."""
    import driftduel

    source = root.resolve() / "src" / "driftduel"
    if Path(driftduel.__file__).parent != source:
        raise SystemExit(f"driftduel was imported from {driftduel.__file__}, not from {source}.")
    names = dir(driftduel)
    files = sorted(source.rglob("*.py"))
    lines = sorted((len(path.read_text("utf-8").splitlines()), path) for path in files)[::-1]
    longest = sorted((each for path in files for each in functions(path)), reverse=True)
    twins = pairs(files)
    for flow in (compare_to_page, ask_and_tell):
        flow()  # the first run compiles and imports, which is not a part of the flow
    page, live = crossings(source, compare_to_page), crossings(source, ask_and_tell)
    most = [f"{rooms}: {count}" for rooms, count in page.most_common(LONGEST)]
    return {
        "crossings, compare to page": page.total(),
        "of these into tools": to_tools(page),
        "doors, compare to page": doors(page),
        "crossings, ask and tell": live.total(),
        f"pairs of places with {ROWS} lines or more": len(twins),
        "lines": sum(length for length, _ in lines),
        "lines of code": sum(len(code_lines(path)) for path in files),
        "imports past a front door": len(past_front_doors(source)),
        "class names used twice": len(repeated_classes(files)),
        "files": len(files),
        "files above 400 lines": sum(length > 400 for length, _ in lines),
        "functions above 60 lines": sum(length > 60 for length, _ in longest),
        "names in dir(driftduel)": len(names),
        "of these not in __all__": len(set(names) - set(driftduel.__all__)),
        "most crossings": most,
        "longest files": [f"{p.relative_to(source)}: {n}" for n, p in lines[:LONGEST]],
        "longest functions": [f"{name}: {length}" for length, name in longest[:LONGEST]],
        "longest pairs": [
            f"{Path(one).relative_to(source)}:{at}, {Path(two).relative_to(source)}:{there}: {n}"
            for one, at, two, there, n in twins[:LONGEST]
        ],
    }


def table(houses: dict[str, dict[str, Any]]) -> str:
    """Return the numbers side by side, and below them the longest items of each checkout."""
    first = next(iter(houses.values()))
    numbers = [name for name, value in first.items() if isinstance(value, int)]
    lines = [f"| | {' | '.join(houses)} |", "|---|" + "---|" * len(houses)]
    for name in numbers:
        cells = (f"{house[name]:,}" for house in houses.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for root, house in houses.items():
        lines += ["", f"{root}:"]
        for name, value in house.items():
            if isinstance(value, list):
                lines.append(f"- {name}: {'; '.join(value)}")
    return "\n".join(lines)


@contextlib.contextmanager
def checkout(name: str) -> Iterator[Path]:
    """Yield the folder of this name, or one with the source of this commit."""
    if Path(name).is_dir():
        yield Path(name)
        return
    archive = subprocess.run(
        ["git", "archive", "--format=zip", name, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        raise SystemExit(f"{name!r} is neither a folder nor a commit of this repository.")
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(io.BytesIO(archive.stdout)).extractall(folder)
        yield Path(folder)


def main() -> None:
    """Measure each checkout in a separate process, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "roots", nargs="*", default=[str(ROOT)], metavar="CHECKOUT", help="folder or commit"
    )
    parser.add_argument(
        "--json", action="store_true", help="one checkout, as JSON, in this process"
    )
    arguments = parser.parse_args()
    if arguments.json:
        root = Path(arguments.roots[0])
        sys.path.insert(0, str(root.resolve() / "src"))
        print(json.dumps(measure(root)))
        return
    houses = {}
    for name in arguments.roots:
        with checkout(name) as root:
            command = [sys.executable, __file__, "--json", str(root)]
            houses[name] = json.loads(subprocess.run(command, check=True, stdout=-1).stdout)
    print(table(houses))


if __name__ == "__main__":
    main()
