"""Examples of every command, printed at the end of its help; tests parse or run all of them."""

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
        (f"driftduel measure --world {_WORLD}", "measures of change of one world"),
        (
            "driftduel measure --world seasonal:rounds=5000 --plot world.png",
            "the same, with a figure",
        ),
        (
            "driftduel measure --world file:path=mine.csv,rounds=10000",
            "a matrix from a CSV file",
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
            "a game without a Condorcet winner",
        ),
    ),
    "trace": (
        (
            "driftduel trace --policy king --world two-arm:rounds=2000 --out game.csv",
            "both arms and the winner of every round",
        ),
        (
            "driftduel trace --policy anaconda --world two-arm:rounds=2000 --plot game.png",
            "a figure of ANACONDA's replays and restarts",
        ),
    ),
    "compare": (
        (
            f"driftduel compare --world {_WORLD} \\\n    --policy king --policy dts",
            "regret of two policies, over 20 games each",
        ),
        (
            "driftduel compare --world seasonal --world random-walk \\\n"
            "    --policy king --policy sw-dts:window=3000 --runs 50 \\\n"
            "    --out results --report",
            "two worlds, more games, stored results, and a page",
        ),
        (
            "driftduel compare --world ladder:arms=4,rounds=3000 --mode panel \\\n"
            "    --policy king --policy dts --goal best",
            "votes until the best of four options is identified",
        ),
    ),
    "sweep": (
        ("driftduel sweep plan.toml --dry-run", "the plan with an estimate of its duration"),
        ("driftduel sweep plan.toml --out results", "all cells; the same command resumes"),
        (
            "driftduel sweep plan.toml --out results --shard 1/4",
            "a quarter of the cells, on this machine",
        ),
    ),
    "table": (
        ("driftduel table results", "the summary of a folder of results"),
        ("driftduel table results --latex", "the same for a paper"),
        (
            "driftduel table results --latex --wide --label 'dts=Double Thompson'",
            "one table of policies by worlds, minima in bold",
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
            "rivals tuned in hindsight",
        ),
    ),
    "report": (
        ("driftduel report results", "a page about the games in a folder"),
        ("driftduel report results --out page --no-figures", "the page only, in another folder"),
        (
            "driftduel report results --width page --legend outside --logx",
            "figures for a paper with two columns",
        ),
    ),
    "log": (
        ("driftduel log summary votes.csv", "contents, and the best option now"),
        ("driftduel log changes votes.csv --group voter", "changes with their probabilities"),
    ),
    "log summary": (
        ("driftduel log summary votes.csv", "columns winner,loser or first,second,winner"),
        (
            "driftduel log summary votes.parquet \\\n"
            "    --columns first=model_a,second=model_b --time day --group judge",
            "other column names, and dependent votes",
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
    "log tags": (
        (
            "driftduel log tags votes.csv --by language --group voter",
            "one vote per voter, pair and language",
        ),
        ("driftduel log tags export.jsonl --by topic --json", "the tags of an arena export"),
    ),
    "log features": (
        (
            "driftduel log features votes.csv --features category,length --group voter",
            "do they predict preferences, and what would routing by them gain?",
        ),
        (
            "driftduel log features votes.csv --features category --prices large=0.4",
            "prices in log-odds: 0.4 is worth it if preferred in 60% of the votes",
        ),
    ),
    "log changes": (
        ("driftduel log changes votes.csv --json", "for another program"),
        (
            "driftduel log changes votes.csv --plot winners.png",
            "a figure of the best option over time",
        ),
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
            "twenty worlds drawn from the posterior",
        ),
    ),
    "log compare": (
        ("driftduel log compare votes.csv", "king, court, dts, windows and uniform"),
        (
            "driftduel log compare votes.csv --policy king --policy dts --sisters 30",
            "two policies, on more posterior draws",
        ),
    ),
    "log replay": (
        (
            "driftduel log replay races.csv --group race --policy king",
            "one duel per race, with the recorded outcome",
        ),
    ),
    "log report": (
        ("driftduel log report votes.csv --out page", "then open page/index.html"),
        (
            "driftduel log report votes.csv --group voter --out page --no-policies",
            "faster, without the games of policies",
        ),
    ),
    "log demo": (("driftduel log demo", "a log with known changes, from file to page"),),
    "arena": (
        ("driftduel arena demo", "simulated voters with two changes of preferences"),
        ("driftduel arena new headlines --option one --option two", "a new arena"),
    ),
    "arena new": (
        (
            "driftduel arena new headlines --option 'Save time' --option 'Save money'",
            "two options with the default policy",
        ),
        (
            "driftduel arena new models --options models.jsonl --lease 600",
            "options from a file, for judges that need minutes",
        ),
        (
            "driftduel arena new models --items items.jsonl --balance lang",
            "six models on 200 prompts, say; languages equally often",
        ),
    ),
    "arena list": (("driftduel arena list", "arenas in arena.db"),),
    "arena options": (("driftduel arena options headlines", "ids and names"),),
    "arena join": (
        ("driftduel arena join headlines 'Be first'", "a new option"),
        (
            "driftduel arena join headlines o2 --server http://127.0.0.1:8000",
            "readmission by id, in an arena that is served",
        ),
    ),
    "arena price": (("driftduel arena price router small=0.1 large=0.4", "worth it above 60%"),),
    "arena leave": (("driftduel arena leave headlines 'Save time'", "retirement by name"),),
    "arena close": (("driftduel arena close headlines", "the end of the voting"),),
    "arena void": (
        ("driftduel arena void headlines 17 23 --why 'a bot'", "two votes with a reason"),
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
    "arena items": (
        ("driftduel arena items models add more.jsonl", "further items"),
        ("driftduel arena items models replace items.jsonl", "answers of one more model"),
        ("driftduel arena items models retire p17 p18", "two items are no longer shown"),
    ),
    "arena judge": (
        (
            "driftduel arena judge models --command 'python judge.py' --both-orders",
            "votes of a program, with its position bias",
        ),
    ),
    "arena page": (
        (
            "driftduel arena page models --question 'Which answer is more helpful?'",
            "another question",
        ),
        ("driftduel arena page models --buttons left,right,tie,both-bad", "no skip button"),
    ),
    "arena serve": (
        ("driftduel arena serve", "at http://127.0.0.1:8000, this machine only"),
        (
            "driftduel arena serve --store postgresql://localhost/arena --port 9000",
            "arenas in a database shared by several servers",
        ),
    ),
    "arena board": (("driftduel arena board headlines", "the leader with its evidence"),),
    "arena export": (
        ("driftduel arena export headlines --out votes.parquet", "for 'driftduel log report'"),
    ),
    "arena import": (
        ("driftduel arena import headlines votes.csv", "past votes as the start of an arena"),
    ),
    "arena schema": (("driftduel arena schema items", "the lines of a file of items"),),
    "arena check": (("driftduel arena check headlines", "comparison of state and log"),),
    "arena token": (
        (
            "driftduel arena token headlines --scope vote --label poster",
            "a token that permits voting",
        ),
        ("driftduel arena token headlines --list", "the tokens of an arena"),
    ),
    "arena demo": (("driftduel arena demo", "board and vote page, with simulated voters"),),
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
    """Return the examples of a command as the end of its help, None if it has none."""
    lines = [f"  {line}\n      {what}" for line, what in EXAMPLES.get(command, ())]
    return "examples:\n" + "\n".join(lines) if lines else None
