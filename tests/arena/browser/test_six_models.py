"""Six models on 200 prompts, from an empty folder: three commands, one file, two voters."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("polars")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

from playwright.sync_api import expect

from driftduel.arena.stores import open_store
from tests.waiting import no_hanging

pytestmark = pytest.mark.long

READY = "drift-duel[data-ready]"
MODELS = [f"secret-model-{letter}" for letter in "abcdef"]
LANGUAGES = ("en", "de")
SAID = {
    "ArrowLeft": ("left", "Saved: left."),
    "ArrowRight": ("right", "Saved: right."),
    "ArrowDown": ("tie", "Saved: equal."),
    "b": ("both-bad", "Saved: both bad."),
    "s": ("skip", "Skipped."),
}
KEYS = ("ArrowLeft", "ArrowRight", "ArrowDown", "ArrowLeft", "b", "ArrowRight")


def command(folder, *words):
    source = str(Path(sys.modules["driftduel"].__file__).parents[1])
    return {
        "args": [sys.executable, "-m", "driftduel", "arena", *words],
        "cwd": folder,
        "env": {**os.environ, "PYTHONPATH": source},
        "text": True,
    }


def run(folder, *words):
    made = subprocess.run(**command(folder, *words), capture_output=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout


@contextmanager
def server(folder):
    running = subprocess.Popen(
        **command(folder, "serve", "--port", "0"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        with no_hanging():
            said = running.stdout.readline()
        assert "http://" in said, said
        yield re.search(r"http://[\d.:]+", said)[0]
    finally:
        running.terminate()
        running.wait()
        running.stdout.close()


def write_items(folder):
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        for number in range(200):
            answers = {
                model: f"Answer **{(7 * number + i) % 97}**." for i, model in enumerate(MODELS)
            }
            item = {"id": f"prompt-{number}", "prompt": f"What is $7 \\cdot {number}$?",
                    "answers": answers, "tags": {"lang": LANGUAGES[number % 2]}}  # fmt: skip
            file.write(json.dumps(item) + "\n")


class Voter:
    """A browser window that votes by keyboard; it keeps what the server sent."""

    def __init__(self, visits, url, link):
        self.visit = visits(url)
        self.page, self.sent, self.picks = self.visit.page, [], []
        self.checked = 0
        self.page.on("response", self._keep)
        self.page.goto(link)

    def _keep(self, response):
        beacon = response.url.endswith("/leases")  # nobody can read what it answers
        if ("/v1/" in response.url or "/vote/" in response.url) and not beacon:
            self.sent.append(response)

    def ready(self):
        self.page.wait_for_selector(READY)
        duel = self.page.evaluate("document.querySelector('drift-duel').duel")
        return duel["duel"], duel["prompt"]["content"]

    def vote(self, key):
        self.ready()
        pick, said = SAID[key]
        self.page.keyboard.press(key)
        expect(self.page.locator("#note")).to_have_text(said)
        self.picks.append(pick)

    def undo_and_vote(self, key):
        after = self.ready()
        self.page.keyboard.press("u")
        expect(self.page.locator("#note")).to_have_text("Undone. Choose again.")
        self.picks.pop()
        assert self.ready() != after
        self.vote(key)
        assert self.ready() == after  # the pair that was on the screen before

    def check_blindness(self):
        """No response has a name of an option, an id of one, or an id of an item."""
        for response in self.sent:
            text = "" if response.status == 204 else response.text()
            assert "secret-model" not in text, response.url
            assert not re.search(r'"(o\d|prompt-\d+)"', text), response.url
            assert not re.search(r'"(id|name)":"[^"]', text), response.url
        self.checked += len(self.sent)
        self.sent.clear()

    def reload(self):
        before = self.ready()
        self.check_blindness()  # a browser forgets the responses of the page before
        self.page.reload()
        assert self.ready() == before


def test_two_voters_give_fifty_votes_by_keyboard(visits, tmp_path):
    write_items(tmp_path)
    run(tmp_path, "new", "six", "--items", "items.jsonl", "--grace", "3600",
        "--question", "Which answer is right?",
        "--buttons", "left,right,tie,both-bad,skip")  # fmt: skip
    with server(tmp_path) as url:
        link = json.loads(run(tmp_path, "link", "six", "--server", url, "--json"))["vote"]
        voters = [Voter(visits, url, link) for _ in range(2)]
        for number in range(25):
            for voter in voters:
                voter.vote("s" if number == 20 else KEYS[number % len(KEYS)])
            if number == 8:
                voters[0].undo_and_vote("ArrowRight")
                voters[1].reload()
            if number == 16:
                voters[1].undo_and_vote("b")
                voters[0].reload()
        assert (
            voters[0].page.get_by_role("heading", level=2).inner_text() == "Which answer is right?"
        )
        for voter in voters:
            assert len(voter.picks) == 25
            voter.check_blindness()
            assert voter.checked > 25
            voter.visit.context.close()
    check_log(tmp_path, [pick for voter in voters for pick in voter.picks])


def check_log(folder, picks):
    store = open_store(f"sqlite:{folder / 'arena.db'}")
    votes, undone = {}, 0
    for record in store.records("six", 0, 10_000):
        body = record.body
        if record.kind == "voted":
            votes[body["ref"]] = body
        elif record.kind == "undone":
            undone += 1
            del votes[body["ref"]]
    store.close()
    assert undone == 2
    assert sorted(each["pick"] for each in votes.values()) == sorted(picks)
    seen = {(each["voter"], frozenset(each["shown"]), each["item"]) for each in votes.values()}
    assert len({voter for voter, _, _ in seen}) == 2
    assert len(seen) == len(votes) == 50
