"""A real browser, for what only a browser can show."""

import shutil

import pytest

from tests.waiting import LONG

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def browser():
    """Start a browser; while it runs, this thread has an event loop that others must not meet."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if BROWSER is None:
        pytest.skip("no browser: 'apt-get install chromium' brings one")
    sync_api.expect.set_options(timeout=1000 * LONG)
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"], timeout=1000 * LONG
        )
        yield started
        started.close()


class Visit:
    """A browser's window, and what happened in it."""

    def __init__(self, browser, url, width=1280, scheme="light", **settings):
        self.url = url
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **settings
        )
        self.context.set_default_timeout(1000 * LONG)
        self.errors, self.dialogs, self.requests = [], [], []
        self.page = self.tab()

    def tab(self):
        page = self.context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._asked)
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def _said(self, message):
        if "Failed to load resource" not in message.text:  # that is what some tests are about
            self.errors.append(message.text)

    def _asked(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, path, page=None):
        (page or self.page).goto(self.url + path)
        return self

    def close(self):
        self.context.close()
        assert self.errors == []  # among them whatever the Content-Security-Policy forbids
        assert self.dialogs == []
        strangers = [url for url in self.requests if not url.startswith((self.url, "data:"))]
        assert strangers == []


@pytest.fixture
def visits(browser):
    """Open windows; at the end nothing must have gone wrong in any."""
    opened = []

    def visit(url, **settings):
        opened.append(Visit(browser, url, **settings))
        return opened[-1]

    yield visit
    for each in opened:
        each.close()


@pytest.fixture
def fake():
    """Serve a scripted arena on a port of its own.

    A page sends its release beacon while its window is closed, so the beacon may arrive after the
    end of its test. With one server for all tests it would be counted by the next one.
    """
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from tests.arena.fake_server import CLOCK, FakeArena, serving

    arena = FakeArena()
    with serving(arena.app(), **CLOCK) as arena.url:
        yield arena
