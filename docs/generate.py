"""Generate the reference of the site from registries, --help and docstrings.

A mark ``<!-- generated: NAME -->`` of a page is replaced by the text of the function `PARTS[NAME]`.
mkdocs loads this file as a hook. The functions above the hooks require driftduel only, so that
tests can check the pages without building the site.
"""

import argparse
import ast
import csv
import html
import inspect
import os
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import driftduel

DOCS = Path(__file__).parent
ROOT = DOCS.parent
if str(ROOT) not in sys.path:  # mkdocs does not add the folder that it runs in
    sys.path.append(str(ROOT))
# At once: mkdocs restores the path after it has loaded this file.
import research  # noqa: E402, F401

RECORDS = ROOT / "research" / "records"
SOURCE = Path(driftduel.__file__).parent
_STUDY = ROOT / "research" / "pages" / "study"
FIGURES = {
    "research/study.png": _STUDY / "rate-horizon.png",
    "research/theory.png": _STUDY / "significant.png",
}
"""Pictures of the site that are stored elsewhere."""
MARK = re.compile(r"<!-- generated: ([\w-]+) -->")
WIDTH = "88"


# ---- Python ----


def packages() -> list[str]:
    """Return the names of the public packages and modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(driftduel.__path__))
    return [name for name in names if not name.startswith("_")]


def module_of(package: str) -> ast.Module:
    """Parse a package without importing it, so that no extra is needed."""
    path = (
        SOURCE / package / "__init__.py"
        if (SOURCE / package).is_dir()
        else SOURCE / f"{package}.py"
    )
    return ast.parse(path.read_text("utf-8"))


def public_names(package: str) -> list[str]:
    """Return the names in ``__all__`` of a package."""
    for node in module_of(package).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def package_page(package: str) -> str:
    """Write the page of one package: every public name, from its docstring."""
    said = (ast.get_docstring(module_of(package)) or "").strip()
    lines = [f"# driftduel.{package}", "", said, ""]
    lines += [f"::: driftduel.{package}.{name}\n" for name in public_names(package)]
    return "\n".join(lines)


def python_index() -> str:
    """Write the names that `driftduel` exports, and the packages."""
    lines = ["## Top level", "", "| name | purpose |", "|---|---|"]
    names_of = driftduel._NAMES.items()
    homes = {name: f"driftduel.{home}" for home, names in names_of for name in names.split()}
    for name in driftduel.__all__:
        home = homes[name]
        lines.append(f"| [`{name}`][{home}.{name}] | {cell(summary(home, name))} |")
    lines += ["", "## Packages", "", "| package | content | names |", "|---|---|---|"]
    for package in packages():
        said = (ast.get_docstring(module_of(package)) or "").partition("\n\n")[0].replace("\n", " ")
        names = len(public_names(package))
        lines.append(f"| [`driftduel.{package}`](python/{package}.md) | {cell(said)} | {names} |")
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

    lines = ["| command | purpose |", "|---|---|"]
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
            lines += ["| option | default | meaning |", "|---|---|---|"]
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
    # A pipe inside of a code span does not end a cell, and a backslash would be printed.
    return f"| `{shown}` | {default} | {cell(text)} |"


# ---- worlds and policies ----


def cell(text: str) -> str:
    """Make text fit into a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def keys_table(parameters: Any) -> list[str]:
    """Write the keys of a spec: type, default, allowed values and help."""
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
    """Return the documented properties of a policy's class."""
    from driftduel.policies.wrapper import prior_knowledge_of

    kind = getattr(entry.factory, "wrapper", entry.factory)
    return {
        "prior knowledge": ", ".join(prior_knowledge_of(entry)) or "none",
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
    """Write every policy: prior knowledge, guarantee, source, confidence, keys."""
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
        "A composition has the keys of its wrapper and of the wrapped policy, and learns from "
        "late answers like that policy.",
        "",
    ]
    for wrapper, entries in wrapped.items():
        own = [key.name for key in own_keys(wrapper)]
        summary = entries[0].summary.partition(" Around:")[0]
        lines += [f"### {wrapper.prefix}-* {{ #{wrapper.prefix} }}", "", summary, ""]
        listed = {
            **facts(entries[0]),
            "prior knowledge": ", ".join(wrapper.adds_prior_knowledge) or "none",
        }
        lines += [*_listed(listed, wrapper), "", *keys_table(own_keys(wrapper)), ""]
        lines += ["| name | prior knowledge | keys of the wrapped policy |", "|---|---|---|"]
        for entry in entries:
            inner = [
                f"`{key.name}`" + ("" if key.required else f" (`{str(key.default).lower()}`)")
                for key in entry.parameters
                if key.name not in own
            ]
            lines.append(
                f"| `{entry.name}` | {facts(entry)['prior knowledge']} | {', '.join(inner)} |"
            )
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
    with open(RECORDS / "which-policy.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured() -> str:
    """Write the regret of each policy in each world, as a share of that of uniform play."""
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
    lines += ["", f"| policy | prior knowledge | guarantee | {' | '.join(letters)} |"]
    lines.append("|---|---|---|" + "---:|" * len(played))
    for name in sorted(names, key=lambda name: sum(share[name, world] for world in played)):
        said = facts(POLICIES[Spec.parse(name).name])
        cells = []
        for world in played:
            percent = 100 * share[name, world]
            text = f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"
            cells.append(f"**{text}**" if lowest[world] == name else text)
        link = f"[`{name}`](../reference/policies.md#{anchor(Spec.parse(name).name)})"
        lines.append(
            f"| {link} | {said['prior knowledge']} | {said['guarantee']} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Return the anchor of a policy in the reference."""
    from driftduel.policies import POLICIES

    wrapper = getattr(POLICIES[name].factory, "wrapper", None)
    return wrapper.prefix if wrapper else name


def by_prior_knowledge() -> str:
    """Write the policies by their prior knowledge."""
    alone, wrapped = families()
    groups = defaultdict(list)
    for entry in alone:
        groups[facts(entry)["prior knowledge"]].append((entry.name, entry.name))
    for wrapper in wrapped:
        key = ", ".join((*wrapper.adds_prior_knowledge, "and that of the wrapped policy"))
        groups[key].append((f"{wrapper.prefix}-*", wrapper.prefix))
    lines = ["| prior knowledge | policies |", "|---|---|"]
    for key in sorted(groups, key=lambda key: (key != "none", key != "horizon", "wrapped" in key)):
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
    source = (ROOT / "tests" / "policies" / "anaconda_literal.py").read_text("utf-8")
    return f"```python\n{source.rstrip()}\n```"


def engine() -> str:
    """Write why the fast engine is exact."""
    source = (SOURCE / "policies" / "_anaconda" / "__init__.py").read_text("utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


# ---- the study ----


def study_answer() -> str:
    """Write the answer of the study in one paragraph, from its record."""
    from research.study import opening, read_study

    return opening(read_study(RECORDS / "study.json").sections)


def study_claims() -> str:
    """Write the table of the paper's claims, from the record of the study."""
    from research.study import claims_table, read_study

    table = claims_table(read_study(RECORDS / "study.json").sections)
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return "\n".join(f"| {' | '.join(map(cell, row))} |" for row in rows)


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


# ---- the board of an arena ----


def board() -> str:
    """Write the fields of a board from the class that declares them."""
    tree = ast.parse((SOURCE / "arena" / "board.py").read_text("utf-8"))
    (found,) = (each for each in tree.body if getattr(each, "name", "") == "Board")
    assert isinstance(found, ast.ClassDef)
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for field, after in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign):
            documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            meaning = inspect.cleandoc(str(after.value.value)) if documented else ""
            meaning = meaning.replace("``", "`")
            kind = ast.unparse(field.annotation).replace(" | None", " or null")
            kind = kind.replace(" | UnsetType", ", may be absent")
            lines.append(f"| `{ast.unparse(field.target)}` | `{kind}` | {cell(meaning)} |")
    return "\n".join(lines)


# ---- the field ----


def field() -> str:
    """Write the table of all policies."""
    from driftduel.cli.policies import markdown
    from driftduel.policies import POLICIES

    return markdown(list(POLICIES))


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
    "prior-knowledge": by_prior_knowledge,
    "calibrated": calibrated,
    "literal": literal,
    "engine": engine,
    "study-answer": study_answer,
    "study-claims": study_claims,
    "examples": examples_part,
    "log-json": log_json,
    "board": board,
    "field": field,
}


def filled(text: str) -> str:
    """Replace the marks by the generated text."""
    return MARK.sub(lambda match: PARTS[match[1]](), text)


# ---- what mkdocs calls ----


def on_config(config: Any) -> Any:
    """List the packages in the navigation."""

    def put(items: Any) -> None:
        for item in items:
            for children in item.values() if isinstance(item, dict) else ():
                if isinstance(children, list):
                    if "reference/python.md" in children:
                        children += [f"reference/python/{package}.md" for package in packages()]
                    put(children)

    put(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each package, and figures of the research pages."""
    from mkdocs.structure.files import File

    for package in packages():
        name = f"reference/python/{package}.md"
        files.append(File.generated(config, name, content=package_page(package)))
    for name, path in FIGURES.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Fill in generated text, and warn at the top about stale numbers."""
    said = "" if page is None else stale_header(page.file.src_uri)
    return with_header(filled(markdown), said)


def stale_header(page: str) -> str:
    """Return the warning of a page about its stale records, computed when the site is built."""
    from research.stamps import header, read_stamps

    return header(read_stamps(RECORDS), f"docs/{page}")


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
