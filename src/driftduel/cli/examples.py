"""Examples of every command, which its --help ends with; tests parse or run each of them."""

__all__ = ["EXAMPLES", "epilog"]

_WORLD = "geometric-btl:arms=5,rounds=20000"

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "worlds": (
        ("driftduel worlds", "the list"),
        ("driftduel worlds seasonal", "one world with its keys"),
    ),
    "policies": (
        ("driftduel policies", "the list"),
        ("driftduel policies sw-dts", "one policy with its keys, guarantee and source"),
    ),
    "measure": (
        (f"driftduel measure --world {_WORLD}", "how much this world changes"),
        (
            "driftduel measure --world seasonal:rounds=5000 --plot world.png",
            "the same, and a picture of it",
        ),
        (
            "driftduel measure --world file:path=mine.csv,rounds=10000",
            "a matrix of your own, from a CSV file",
        ),
    ),
    "play": (
        (f"driftduel play --policy king --world {_WORLD}", "one game"),
        (
            "driftduel play --policy sw-dts:window=900 --world seasonal --seed 7",
            "another policy and another game",
        ),
        (
            "driftduel play --policy court --world rps-top --benchmark exploitability",
            "a game in which nobody beats everybody",
        ),
    ),
    "trace": (
        (
            "driftduel trace --policy king --world two-arm:rounds=2000 --out game.csv",
            "who met whom, and who won, round by round",
        ),
        (
            "driftduel trace --policy anaconda --world two-arm:rounds=2000 --plot game.png",
            "a picture of ANACONDA's replays and restarts",
        ),
    ),
    "compare": (
        (
            f"driftduel compare --world {_WORLD} \\\n    --policy king --policy dts",
            "who loses less, over 20 games of each",
        ),
        (
            "driftduel compare --world seasonal --world random-walk \\\n"
            "    --policy king --policy sw-dts:window=3000 --runs 50 \\\n"
            "    --out results --report",
            "two worlds, more games, results that stay, and the page about them",
        ),
        (
            "driftduel compare --world ladder:arms=4,rounds=3000 --mode panel \\\n"
            "    --policy king --policy dts --goal best",
            "votes until the best of four options is named",
        ),
    ),
    "sweep": (
        ("driftduel sweep plan.toml --dry-run", "what would be played, and for how long"),
        ("driftduel sweep plan.toml --out results", "play it; the same command goes on"),
        (
            "driftduel sweep plan.toml --out results --shard 1/4",
            "a quarter of it, on this machine",
        ),
    ),
    "table": (
        ("driftduel table results", "the summary of what is in a folder"),
        ("driftduel table results --latex", "the same for a paper"),
        (
            "driftduel table results --latex --wide --label 'dts=Double Thompson'",
            "one table of policies by worlds, the best in bold",
        ),
    ),
    "suite": (
        (
            "driftduel suite --policy king --out scores --worlds 2 --runs 4",
            "a quick look",
        ),
        ("driftduel suite --policy king --policy sw-dts --out scores", "a score to report"),
        (
            "driftduel suite --policy king --hindsight --out scores",
            "rivals at their best setting in hindsight",
        ),
    ),
    "study": (
        ("driftduel study --quick --dry-run", "what would be played, and for how long"),
        ("driftduel study --quick --out study", "the page, in some minutes"),
    ),
    "report": (
        ("driftduel report results", "a page about the games in a folder"),
        ("driftduel report results --out page --no-figures", "the page only, and elsewhere"),
        (
            "driftduel report results --width page --legend outside --logx",
            "figures for a paper with two columns",
        ),
    ),
    "log": (
        ("driftduel log summary votes.csv", "what is in it, and who is best now"),
        ("driftduel log changes votes.csv --group voter", "what changed, and how sure that is"),
    ),
    "log summary": (
        ("driftduel log summary votes.csv", "columns winner,loser or first,second,winner"),
        (
            "driftduel log summary votes.parquet \\\n"
            "    --columns first=model_a,second=model_b --time day --group judge",
            "columns of other names, and votes that depend on each other",
        ),
        (
            "driftduel log summary votes.jsonl --columns winner=result.winner",
            "JSON lines with a nested key",
        ),
        (
            "driftduel log summary season.csv --present Rovers,United",
            "goals as results; two of the teams are still present",
        ),
    ),
    "log changes": (
        ("driftduel log changes votes.csv --json", "for another program"),
        ("driftduel log changes votes.csv --plot winners.png", "and who was best when"),
    ),
    "log measure": (
        ("driftduel log measure votes.csv --rounds 1e6", "for a million rounds of traffic"),
    ),
    "log forecast": (
        ("driftduel log forecast votes.csv --pair tea,milk", "one pair, with a 95% interval"),
        ("driftduel log forecast votes.csv --json", "all pairs, for another program"),
    ),
    "log evaluate": (
        ("driftduel log evaluate votes.csv", "log-loss beside Bradley-Terry and Elo"),
    ),
    "log world": (
        ("driftduel log world votes.csv --save mine.npz", "then: --world file:path=mine.npz"),
        (
            "driftduel log world votes.csv --save mine.npz --sisters 20",
            "twenty worlds that may have made it",
        ),
    ),
    "log compare": (
        ("driftduel log compare votes.csv", "king, court, dts, windows and uniform"),
        (
            "driftduel log compare votes.csv --policy king --policy dts --sisters 30",
            "two of them, on more worlds that may have made the log",
        ),
    ),
    "log replay": (
        (
            "driftduel log replay races.csv --group race --policy king",
            "one duel a race, decided as it was on that day",
        ),
    ),
    "log report": (
        ("driftduel log report votes.csv --out page", "then open page/index.html"),
        (
            "driftduel log report votes.csv --group voter --out page --no-policies",
            "sooner, without the games of policies",
        ),
    ),
    "log demo": (("driftduel log demo", "a log whose truth is known, from file to page"),),
    "arena": (
        ("driftduel arena demo", "simulated people vote, and change their taste twice"),
        ("driftduel arena new headlines --option one --option two", "an arena of your own"),
    ),
    "arena new": (
        (
            "driftduel arena new headlines --option 'Save time' --option 'Save money'",
            "two options, king, people who came to compare",
        ),
        (
            "driftduel arena new models --options models.jsonl --lease 600",
            "options from a file, for judges that take minutes",
        ),
    ),
    "arena list": (("driftduel arena list", "arenas in arena.db"),),
    "arena options": (("driftduel arena options headlines", "ids and names"),),
    "arena join": (
        ("driftduel arena join headlines 'Be first'", "a new option"),
        (
            "driftduel arena join headlines o2 --server http://127.0.0.1:8000",
            "an option that left, in an arena that is being served",
        ),
    ),
    "arena leave": (("driftduel arena leave headlines 'Save time'", "retirement by name"),),
    "arena close": (("driftduel arena close headlines", "the end of the voting"),),
    "arena void": (
        ("driftduel arena void headlines 17 23 --why 'a bot'", "two votes of one source"),
    ),
    "arena hook": (
        (
            "driftduel arena hook headlines https://example.org/hook --event changed",
            "a message for each change of the leader",
        ),
        ("driftduel arena hook headlines --list", "the webhooks and their ids"),
    ),
    "arena link": (
        (
            "driftduel arena link headlines --server https://arena.example.org",
            "addresses of the vote page and the board",
        ),
    ),
    "arena serve": (
        ("driftduel arena serve", "at http://127.0.0.1:8000, for this machine only"),
        (
            "driftduel arena serve --store postgresql://localhost/arena --port 9000",
            "arenas in a database, which several machines can serve",
        ),
    ),
    "arena board": (("driftduel arena board headlines", "who leads, and how sure that is"),),
    "arena export": (
        ("driftduel arena export headlines --out votes.parquet", "for 'driftduel log report'"),
    ),
    "arena import": (
        ("driftduel arena import headlines votes.csv", "begin with votes of the past"),
    ),
    "arena check": (("driftduel arena check headlines", "is the state what the log says?"),),
    "arena token": (
        ("driftduel arena token headlines --scope vote --label poster", "who has it may vote"),
        ("driftduel arena token headlines --list", "which tokens there are"),
    ),
    "arena demo": (("driftduel arena demo", "board and vote page, with simulated people"),),
    "log schema": (
        ("driftduel log schema changes", "fields, types and meaning of 'log changes --json'"),
    ),
    "log count": (
        (
            "driftduel log count 2024.parquet 2025.parquet --save counts.npz",
            "then: driftduel log summary counts.npz",
        ),
    ),
    "demo": (("driftduel demo", "a comparison and its page, in under a minute"),),
    "completion": (
        ('eval "$(driftduel completion bash)"', "for this shell; put it into ~/.bashrc to keep"),
        ("driftduel completion zsh > ~/.zfunc/_driftduel", "for a folder in zsh's fpath"),
        (
            "driftduel completion fish > ~/.config/fish/completions/driftduel.fish",
            "for fish",
        ),
    ),
}


def epilog(command: str) -> str | None:
    """Write the examples as the end of a command's help."""
    lines = [f"  {line}\n      {what}" for line, what in EXAMPLES.get(command, ())]
    return "examples:\n" + "\n".join(lines) if lines else None
