"""Write what nobody should write by hand: the reference, from registries, --help and docstrings.

A page holds a mark, ``<!-- generated: NAME -->``; `PARTS` says what takes its place. mkdocs loads
this file as a hook. Everything above the hooks needs driftduel only, so that the tests can look at
the pages without building the site.
"""

import argparse
import ast
import csv
import html
import inspect
import os
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import driftduel

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCE = Path(driftduel.__file__).parent
MARK = re.compile(r"<!-- generated: ([\w-]+) -->")
WIDTH = "88"


# ---- Python ----


def rooms() -> list[str]:
    """Name the public rooms of the package."""
    names = sorted(module.name for module in pkgutil.iter_modules(driftduel.__path__))
    return [name for name in names if not name.startswith("_")]


def module_of(room: str) -> ast.Module:
    """Parse a room without importing it, so that no extra is needed."""
    path = SOURCE / room / "__init__.py" if (SOURCE / room).is_dir() else SOURCE / f"{room}.py"
    return ast.parse(path.read_text("utf-8"))


def public_names(room: str) -> list[str]:
    """Return the names that a room's ``__all__`` lists."""
    for node in module_of(room).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def room_page(room: str) -> str:
    """Write the page of one room: every public name, from its docstring."""
    said = (ast.get_docstring(module_of(room)) or "").strip()
    lines = [f"# driftduel.{room}", "", said, ""]
    lines += [f"::: driftduel.{room}.{name}\n" for name in public_names(room)]
    return "\n".join(lines)


def python_index() -> str:
    """Write which names `driftduel` itself exports, and which rooms there are."""
    lines = ["## From driftduel itself", "", "| name | what it is |", "|---|---|"]
    for name in driftduel.__all__:
        home = driftduel._HOME[name]
        lines.append(f"| [`{name}`][{home}.{name}] | {cell(summary(home, name))} |")
    lines += ["", "## Rooms", "", "| room | what is in it | names |", "|---|---|---|"]
    for room in rooms():
        said = (ast.get_docstring(module_of(room)) or "").partition("\n\n")[0].replace("\n", " ")
        names = len(public_names(room))
        lines.append(f"| [`driftduel.{room}`](python/{room}.md) | {cell(said)} | {names} |")
    return "\n".join(lines)


def summary(home: str, name: str) -> str:
    """Return the first line of a public name's docstring."""
    from driftduel.errors import MissingExtraError

    try:
        thing = getattr(import_module(home), name)
    except MissingExtraError:
        return ""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


# ---- the command line ----


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command; those of ``log`` come after it, as ``log summary``."""
    from driftduel.cli import parser

    return dict(_below("", parser()))


def _below(
    name: str, command: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                whole = f"{name} {word}".strip()
                yield whole, below
                yield from _below(whole, below)


def command_line() -> str:
    """Write every command with its options, from its own help."""
    from driftduel.cli import COMMANDS

    lines = ["| command | what it does |", "|---|---|"]
    for name, text in COMMANDS.items():
        lines.append(f"| [`driftduel {name}`](#{name}) | {cell(text)} |")
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        for name, command in commands().items():
            anchor = name.replace(" ", "-")
            lines += ["", f"## driftduel {name} {{ #{anchor} }}", "", command.description or "", ""]
            lines += ["```text", command.format_usage().strip(), "```", ""]
            below = [word for word, _ in _below(name, command)]
            if below:
                links = (f"[`{word}`](#{word.replace(' ', '-')})" for word in below)
                lines += [f"Commands: {', '.join(links)}.", "", *_examples(name)]
                continue
            lines += ["| option | default | what it does |", "|---|---|---|"]
            lines += [_option(action) for action in command._actions]
            lines += ["", *_examples(name)]
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return "\n".join(lines)


def _examples(command: str) -> list[str]:
    from driftduel.cli.examples import EXAMPLES

    shown = [f"# {what}\n{line}" for line, what in EXAMPLES[command]]
    # They are run where the command is tested, and some take minutes.
    return ["<!-- not run -->", "```sh", "\n\n".join(shown), "```"] if shown else []


def _option(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else action.metavar or action.dest
    if action.choices and action.option_strings:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    shown = ", ".join(f"{each} {value}".strip() for each in action.option_strings) or value
    positional = not action.option_strings
    if action.required and not (positional and action.nargs == "?"):
        default = "required"
    elif action.nargs == 0 or action.default in (None, [], argparse.SUPPRESS):
        default = ""
    else:
        default = f"`{action.default}`"
    text = (action.help or "").replace("%%", "%")  # as argparse prints it
    if isinstance(action, argparse._AppendAction):
        text += " (may be repeated)"
    return f"| `{cell(shown)}` | {default} | {cell(text)} |"


# ---- worlds and policies ----


def cell(text: str) -> str:
    """Make text fit into a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def keys_table(parameters: Any) -> list[str]:
    """Write the keys of a spec: type, default, what is allowed, and help."""
    if not parameters:
        return ["It has no keys."]
    lines = ["| key | type | default | allowed | meaning |", "|---|---|---|---|---|"]
    words = {int: "whole number", float: "number", str: "word", bool: "true or false"}
    for key in parameters:
        default = "required" if key.required else f"`{str(key.default).lower()}`"
        allowed = "" if key.allowed is None else str(key.allowed)
        lines.append(
            f"| `{key.name}` | {words[key.kind]} | {default} | {cell(allowed)} | {cell(key.help)} |"
        )
    return lines


def worlds() -> str:
    """Write every world with its keys."""
    from driftduel.worlds import WORLDS

    lines = ["## Every world", "", "also takes:", "", *keys_table(WORLDS.shared), ""]
    for entry in WORLDS:
        lines += [f"## {entry.name} {{ #{entry.name} }}", "", entry.summary, ""]
        lines += [*keys_table(entry.parameters), ""]
        if not any(key.required for key in entry.parameters):
            lines += [f"With every default written out: `{WORLDS.resolve(entry.name)}`", ""]
    return "\n".join(lines)


def facts(entry: Any) -> dict[str, str]:
    """Return what a policy's class says of it."""
    from driftduel.policies.around import told_by

    kind = getattr(entry.factory, "wrapper", entry.factory)
    return {
        "told": ", ".join(told_by(entry)) or "nothing",
        "guarantee": kind.guarantee,
        "source": kind.source,
        "confidence": kind.confidence,
    }


def families() -> tuple[list[Any], dict[Any, list[Any]]]:
    """Return the policies that stand alone, and the compositions by their wrapper."""
    from driftduel.policies import POLICIES

    alone, wrapped = [], defaultdict(list)
    for entry in POLICIES:
        wrapper = getattr(entry.factory, "wrapper", None)
        if wrapper is None:
            alone.append(entry)
        else:
            wrapped[wrapper].append(entry)
    return alone, dict(wrapped)


def policies() -> str:
    """Write every policy: what it is told, guarantee, source, confidence, keys."""
    alone, wrapped = families()
    lines: list[str] = ["## Policies that stand alone", ""]
    for entry in alone:
        lines += [f"### {entry.name} {{ #{entry.name} }}", "", entry.summary, ""]
        order = "in the order of asking" if entry.factory.in_order else "as they come"
        listed = {**facts(entry), "late answers": f"learned {order}"}
        lines += [*_listed(listed, entry.factory), "", *keys_table(entry.parameters), ""]
    lines += [
        "## Compositions",
        "",
        "A composition has the keys of its wrapper and those of the policy inside, and learns from "
        "late answers as that policy does.",
        "",
    ]
    for wrapper, entries in wrapped.items():
        own = [key.name for key in own_keys(wrapper)]
        summary = entries[0].summary.partition(" Around:")[0]
        lines += [f"### {wrapper.prefix}-* {{ #{wrapper.prefix} }}", "", summary, ""]
        listed = {**facts(entries[0]), "told": ", ".join(wrapper.tells) or "nothing"}
        lines += [*_listed(listed, wrapper), "", *keys_table(own_keys(wrapper)), ""]
        lines += ["| name | told | keys of the policy inside |", "|---|---|---|"]
        for entry in entries:
            inner = [
                f"`{key.name}`" + ("" if key.required else f" (`{str(key.default).lower()}`)")
                for key in entry.parameters
                if key.name not in own
            ]
            lines.append(f"| `{entry.name}` | {facts(entry)['told']} | {', '.join(inner)} |")
        lines.append("")
    return "\n".join(lines)


def own_keys(wrapper: Any) -> list[Any]:
    """Return the keys of a wrapper, those of the policy inside aside."""
    from driftduel.specs import parameters_of

    return list(parameters_of(wrapper, ("arms", "rng", "base")))


def _listed(said: dict[str, str], kind: Any) -> list[str]:
    name = f"driftduel.policies.{kind.__name__}"
    lines = [f"- *{key}*: {text}" for key, text in said.items()]
    return [*lines, f"- *in full*: [`{name}`][{name}]"]


# ---- which policy ----


def comparison() -> list[dict[str, str]]:
    """Read the comparison behind the page on choosing a policy."""
    with open(DOCS / "how-to" / "which-policy.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured() -> str:
    """Write what each policy lost in each world, as a share of what uniform play lost."""
    from driftduel.policies import POLICIES
    from driftduel.specs import Spec

    rows = comparison()
    played = list(dict.fromkeys(row["world"] for row in rows))
    names = list(dict.fromkeys(row["policy"] for row in rows))
    lost = {(row["policy"], row["world"]): float(row["regret_mean"]) for row in rows}
    share = {key: regret / lost["uniform", key[1]] for key, regret in lost.items()}
    real = [name for name in names if not name.startswith("oracle")]
    lowest = {world: min(real, key=lambda name: share[name, world]) for world in played}
    letters = "ABCDEFGHIJ"[: len(played)]
    lines = ["| | world | switches of the winner |", "|---|---|---|"]
    for letter, world in zip(letters, played, strict=True):
        switches = float(next(row["switches_mean"] for row in rows if row["world"] == world))
        lines.append(f"| {letter} | `{world}` | {switches:g} |")
    lines += ["", f"| policy | told | guarantee | {' | '.join(letters)} |"]
    lines.append("|---|---|---|" + "---:|" * len(played))
    for name in sorted(names, key=lambda name: sum(share[name, world] for world in played)):
        said = facts(POLICIES[Spec.parse(name).name])
        cells = []
        for world in played:
            percent = 100 * share[name, world]
            text = f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
            cells.append(f"**{text}**" if lowest[world] == name else text)
        link = f"[`{name}`](../reference/policies.md#{anchor(Spec.parse(name).name)})"
        lines.append(f"| {link} | {said['told']} | {said['guarantee']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Return where the reference speaks of a policy."""
    from driftduel.policies import POLICIES

    wrapper = getattr(POLICIES[name].factory, "wrapper", None)
    return wrapper.prefix if wrapper else name


def told() -> str:
    """Write which policies must be told what."""
    alone, wrapped = families()
    groups = defaultdict(list)
    for entry in alone:
        groups[facts(entry)["told"]].append((entry.name, entry.name))
    for wrapper in wrapped:
        key = ", ".join((*wrapper.tells, "and what the policy inside must be told"))
        groups[key].append((f"{wrapper.prefix}-*", wrapper.prefix))
    lines = ["| told | policies |", "|---|---|"]
    for key in sorted(
        groups, key=lambda key: (key != "nothing", key != "horizon", "inside" in key)
    ):
        links = [f"[`{name}`](../reference/policies.md#{place})" for name, place in groups[key]]
        lines.append(f"| {key} | {', '.join(links)} |")
    return "\n".join(lines)


def calibrated() -> str:
    """Write the constants of ``anaconda:rule=calibrated``, by horizon and number of arms."""
    from driftduel.policies.calibration import calibrated_constant, calibration

    rows = calibration()["rows"]
    arms = sorted({row["arms"] for row in rows})
    lines = ["| T | " + " | ".join(f"K = {k}" for k in arms) + " |"]
    lines.append("|---|" + "---:|" * len(arms))
    for rounds in sorted({row["rounds"] for row in rows}):
        cells = [f"{calibrated_constant(k, rounds):.2f}" for k in arms]
        lines.append(f"| {rounds:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


# ---- the algorithm ----


def literal() -> str:
    """Write the paper's algorithm as slow, obvious code."""
    source = (SOURCE / "policies" / "anaconda_literal.py").read_text("utf-8")
    return f"```python\n{source.rstrip()}\n```"


def engine() -> str:
    """Write why the fast engine is exact."""
    source = (SOURCE / "policies" / "_anaconda" / "__init__.py").read_text("utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


# ---- the JSON of logs ----


def log_json() -> str:
    """Write the fields of what each log command prints with ``--json``, from its JSON Schema."""
    from driftduel.logs.schemas import OUTPUTS, json_schema

    lines: list[str] = []
    for command in OUTPUTS:
        schema = json_schema(command)
        lines += [f"## log {command} {{ #{command} }}", "", *_fields(schema)]
        for name, row in schema.get("$defs", {}).items():
            lines += [f"### {name} {{ #{command}-{name.lower()} }}", "", row["description"], ""]
            lines += _fields(row)
    return "\n".join(lines)


def _fields(schema: dict[str, Any]) -> list[str]:
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        lines.append(f"| `{name}` | {_type(field)} | {cell(field.get('description', ''))} |")
    return [*lines, ""]


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        types = dict.fromkeys(_type(each) for each in field["anyOf"])
        if "number" in types:
            types.pop("integer", None)  # which is a number too
        return " or ".join(types)
    if field["type"] == "array":
        return f"list of {_type(field['items'])}"
    if field["type"] == "object":
        return f"object of {_type(field['additionalProperties'])}"
    return str(field["type"])


# ---- examples ----


def examples() -> Iterator[tuple[str, str]]:
    """Return the name and the text of every example."""
    order = ("first_comparison", "own_policy", "own_world", "live_votes", "prompt_panel")
    found = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
    for path in {name: found[name] for name in (*order, *found)}.values():
        yield path.name, path.read_text("utf-8")


def examples_part() -> str:
    """Write every example in full."""
    lines = []
    for name, text in examples():
        said = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
        lines += [
            f"## {name} {{ #{name.removesuffix('.py')} }}",
            "",
            said,
            "",
            "```python",
            text.rstrip(),
            "```",
            "",
        ]
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "python": python_index,
    "command-line": command_line,
    "worlds": worlds,
    "policies": policies,
    "measured": measured,
    "told": told,
    "calibrated": calibrated,
    "literal": literal,
    "engine": engine,
    "examples": examples_part,
    "log-json": log_json,
}


def filled(text: str) -> str:
    """Put what is generated in the place of its marks."""
    return MARK.sub(lambda match: PARTS[match[1]](), text)


# ---- what mkdocs calls ----


def on_config(config: Any) -> Any:
    """List the rooms in the navigation."""

    def put(items: Any) -> None:
        for item in items:
            for children in item.values() if isinstance(item, dict) else ():
                if isinstance(children, list):
                    if "reference/python.md" in children:
                        children += [f"reference/python/{room}.md" for room in rooms()]
                    put(children)

    put(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each room."""
    from mkdocs.structure.files import File

    for room in rooms():
        name = f"reference/python/{room}.md"
        files.append(File.generated(config, name, content=room_page(room)))
    return files


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Fill in what is generated, and say at the top which numbers other code has played."""
    said = "" if page is None else stale_header(page.file.src_uri)
    return with_header(filled(markdown), said)


def stale_header(page: str) -> str:
    """Return what a page says of its stale records, computed when the site is built."""
    from driftduel.lab.records import header, read_stamps

    return header(read_stamps(DOCS), page)


def with_header(markdown: str, said: str) -> str:
    """Put a header below the title of a page."""
    if not said:
        return markdown
    title, newline, rest = markdown.partition("\n")
    return f"{title}{newline}\n{said}{rest}"


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers show without a script."""
    from latex2mathml.converter import convert

    def formula(match: re.Match[str]) -> str:
        display = "block" if match[1] == "div" else "inline"
        return convert(html.unescape(match[2]), display=display)

    pattern = r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>'
    return re.sub(pattern, formula, content, flags=re.DOTALL)
