/* <drift-duel arena="NAME" server="https://…" token="…" voter="…" question="…" keys="page">
   A custom element with two options and one question; the vote page consists of it, too. The default
   of `server` is the origin of this script. Without `token` the element uses the cookie of that server,
   which the token in the page's fragment sets if the element has the attribute `fragment`. It handles
   keys while it has the focus, or on the whole page with keys="page". */
"use strict";
(() => {
  const HOME = document.currentScript ? new URL("..", document.currentScript.src).href : `${location.origin}/`;
  const AT_ONCE = 300, DOUBLE = 700; // ms: earlier clicks and keys were meant for the previous pair
  const RENEW = 20000, IDLE = 120000; // ms between renewals of the lease; ms without input until release
  const SOON = 2000; // ms until the first renewal: the release beacon of a reload may arrive after the new page's request
  const RETURN = 5; // s in which a renewal cancels a release, for example after a reload
  const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"];
  const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skip", u: "undo" };
  const SAVED = { left: "Saved: left.", right: "Saved: right.", tie: "Saved: equal.", skip: "Skipped." };
  const IMAGE = /^(https:\/\/|data:image\/(png|jpeg|webp|gif)[;,])/i;
  const OFFLINE = "You are offline. Your vote is kept here and will be sent as soon as you are back.";
  const WAITING = "You are offline. The next pair will come as soon as you are back.";
  const GIVEN_BACK = "The pair was given back while you were away. Here is another one.";
  const ASLEEP = "Nothing happened for two minutes, so the pair was given back. Touch the page, move the pointer or press a key to go on.";
  const NO_ENTRY = "This link does not let you vote here. Please ask for a new link.";

  // Message and action for each problem: show a "new" pair, try "again", "stop", or "stay" on this pair.
  const TROUBLE = {
    "no-such-duel": ["That pair is not known here any more. Here is a new one.", "new"],
    "already-answered": ["You had answered that pair already, perhaps in another tab. Here is the next one.", "new"],
    "duel-lost": ["That pair had been open for too long. Here is a new one.", "new"],
    "bad-vote": ["The arena did not understand that vote. Here is a new pair.", "new"],
    "no-such-option": ["One of the two has just been taken out. Here is a new pair.", "new"],
    "too-late": ["Too late to undo: your vote has been counted.", "stay"],
    "too-many": ["That was quick! A short pause, then it goes on by itself.", "again"],
    "owned-elsewhere": ["The arena is moving to another machine. It goes on by itself in a moment.", "again"],
    "store-trouble": ["The arena cannot save votes just now. Nothing is lost: it will be tried again by itself.", "again"],
    "nothing-left": ["Nothing is left to compare today. Thank you for your votes; come back tomorrow.", "stop"],
    closed: ["This arena is closed. Thank you for your votes.", "stop"],
    "no-such-arena": ["There is no arena of this name here.", "stop"],
  };

  class Problem extends Error {
    constructor(status, body, after) {
      const name = String(body.type || "").split("/").pop();
      const known = TROUBLE[name]
        || (status === 401 || status === 403 ? [NO_ENTRY, "stop"] : null)
        || (status === 429 ? TROUBLE["too-many"] : status >= 500 ? TROUBLE["store-trouble"] : null)
        || [body.detail || body.title || `The arena answered with an error (${status}).`, "stop"];
      super(known[0]);
      [, this.then] = known;
      this.after = after;
    }
  }

  const SHELL = `
<section aria-labelledby="question">
<h2 id="question" tabindex="-1"></h2>
<div class="pair">
<div class="option" role="group" aria-label="Left option"><div class="body" id="left" dir="auto"></div>
<button type="button" data-pick="left" aria-keyshortcuts="ArrowLeft">This one is better<span class="sr-only"> (left)</span> <kbd aria-hidden="true">←</kbd></button></div>
<div class="option" role="group" aria-label="Right option"><div class="body" id="right" dir="auto"></div>
<button type="button" data-pick="right" aria-keyshortcuts="ArrowRight">This one is better<span class="sr-only"> (right)</span> <kbd aria-hidden="true">→</kbd></button></div>
</div>
<div class="row" id="rest">
<button type="button" data-pick="tie" aria-keyshortcuts="ArrowDown">They are equal <kbd aria-hidden="true">↓</kbd></button>
<button type="button" data-pick="skip" aria-keyshortcuts="s">Skip this pair <kbd aria-hidden="true">s</kbd></button>
</div>
<div class="row" id="onward" hidden><button type="button" data-do="again" aria-keyshortcuts="ArrowRight">Go on <kbd aria-hidden="true">→</kbd></button></div>
<div class="row after"><p id="note" role="status"></p>
<button type="button" data-do="undo" aria-keyshortcuts="u" hidden>Undo <kbd aria-hidden="true">u</kbd> <span id="left-time" aria-hidden="true"></span></button></div>
<p class="sr-only" id="announcement" aria-live="polite"></p>
</section>`;

  const STYLE = `
:host { display: block; color-scheme: light dark; container-type: inline-size;
  --page: #fff; --card: #f6f7f8; --text: #1b1f23; --quiet: #59636e; --rule: #c3cad1; --accent: #0b62a4;
  color: var(--text); font: 17px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :host { --page: #14181c; --card: #1d2328; --text: #e8ebee; --quiet: #a3adb7; --rule: #4a545e; --accent: #7cc0f5; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
h2 { margin: 0 0 14px; font-size: 1.35rem; line-height: 1.3; text-align: center; outline-offset: 4px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.pair.alone { grid-template-columns: minmax(0, 46rem); justify-content: center; }
.option { display: flex; flex-direction: column; min-width: 0; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.body { flex: 1; padding: 18px 20px; min-height: 6rem; overflow-wrap: anywhere; }
.body.text { white-space: pre-wrap; }
.body.brief { display: grid; place-items: center; text-align: center; font-size: 1.25rem; }
.body img { display: block; max-width: 100%; max-height: 62vh; margin: auto; }
.body > :first-child { margin-top: 0; } .body > :last-child { margin-bottom: 0; }
pre { overflow-x: auto; padding: 10px; background: var(--page); border-radius: 6px; }
code { font: 0.9em/1.4 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; }
a { color: var(--accent); }
button { font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--rule); border-radius: 8px; padding: 10px 16px; min-height: 48px; cursor: pointer; touch-action: manipulation; }
.option button { margin: 0 14px 14px; border-color: var(--accent); font-weight: 600; }
button:hover { background: var(--card); border-color: var(--accent); }
.option button:hover { background: var(--accent); color: var(--page); }
button[aria-disabled="true"] { opacity: 0.55; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
kbd { font: inherit; font-size: 0.85em; font-weight: 400; border: 1px solid currentColor; border-radius: 4px; padding: 0 7px; margin-left: 6px; opacity: 0.8; }
@media (hover: none) { kbd { display: none; } }
.row { display: flex; flex-wrap: wrap; justify-content: center; align-items: center; gap: 12px; margin-top: 16px; }
.after { min-height: 52px; }
#note { margin: 0; max-width: 60ch; color: var(--quiet); }
#note.trouble { color: var(--text); border-left: 4px solid var(--accent); padding-left: 10px; }
#left-time { display: inline-block; min-width: 2.6em; text-align: right; font-variant-numeric: tabular-nums; color: var(--quiet); }
.sr-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@container (max-width: 640px) {
  .pair { grid-template-columns: minmax(0, 1fr); gap: 12px; }
  .body { min-height: 4rem; padding: 14px 16px; } .body img { max-height: 34vh; }
  .option button { margin: 0 10px 10px; } .row > button { flex: 1 1 auto; }
}`;

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });
  const brief = (text) => (text.length > 160 ? `${text.slice(0, 160)} …` : text);
  const inMs = (time) => (time > 1e11 ? time : time * 1000);

  // Storage may be disabled: a vote is then kept only while the page is open.
  const storage = (use) => { try { return use(localStorage); } catch { return null; } };

  class DriftDuel extends HTMLElement {
    constructor() {
      super();
      this.root = this.attachShadow({ mode: "open" });
      this.root.adoptedStyleSheets = [sheet];
      this.root.innerHTML = SHELL;
      this.skew = 0; // clock of the server minus clock of the browser, in ms
      this.ahead = []; // open pairs that are shown later, because a vote was undone
      this.root.addEventListener("click", (event) => this.onClick(event));
      this.onKey = (event) => this.onKeydown(event);
      this.onVisibility = () => { if (document.hidden) this.leave(); else this.onActivity(); };
      this.onHide = () => this.leave();
      this.onActivity = () => { this.active = performance.now(); if (this.away) this.back(); };
      this.onHash = () => { if (this.linkToken) this.begin(); };
    }

    connectedCallback() {
      this.at("question").textContent = this.getAttribute("question") || "Which one is better?";
      this.page = this.getAttribute("keys") === "page";
      (this.page ? document : this).addEventListener("keydown", this.onKey);
      addEventListener("pageshow", this.onVisibility);
      addEventListener("pagehide", this.onHide);
      addEventListener("hashchange", this.onHash);
      document.addEventListener("visibilitychange", this.onVisibility);
      for (const sign of SIGNS) addEventListener(sign, this.onActivity, { capture: true, passive: true });
      this.clock = setInterval(() => this.tick(), 200);
      this.begin();
    }

    disconnectedCallback() {
      (this.page ? document : this).removeEventListener("keydown", this.onKey);
      removeEventListener("pageshow", this.onVisibility);
      removeEventListener("pagehide", this.onHide);
      removeEventListener("hashchange", this.onHash);
      document.removeEventListener("visibilitychange", this.onVisibility);
      for (const sign of SIGNS) removeEventListener(sign, this.onActivity, { capture: true });
      clearInterval(this.clock);
      this.leave();
    }

    at(name) { return this.root.getElementById(name); }
    get server() { return new URL(`${(this.getAttribute("server") || HOME).replace(/\/+$/, "")}/`).href; }
    get api() { return `${this.server}v1/arenas/${encodeURIComponent(this.getAttribute("arena"))}/`; }
    get linkToken() { return this.hasAttribute("fragment") ? new URLSearchParams(location.hash.slice(1)).get("token") : null; }
    get mark() { return `driftduel ${this.server} ${this.getAttribute("arena")} `; }

    // A page of another site has no cookie of the server: there the voter gets a random id.
    get voter() {
      if (!this.getAttribute("token")) return undefined;
      const given = this.getAttribute("voter") || storage((kept) => kept.getItem("driftduel voter"));
      if (given) return given;
      this.name ||= crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
      storage((kept) => kept.setItem("driftduel voter", this.name));
      return this.name;
    }

    // -- the server
    async call(path, body, more = {}) {
      const token = this.getAttribute("token");
      const answer = await fetch(this.api + path, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : { "X-Driftduel": "1" }), ...more.headers },
        body: JSON.stringify(body),
        credentials: token ? "omit" : "same-origin",
        cache: "no-store",
        keepalive: Boolean(more.keepalive),
        signal: AbortSignal.timeout(20000),
      });
      const date = Date.parse(answer.headers.get("Date"));
      if (date && Math.abs(date + 500 - Date.now()) > 2000) this.skew = date + 500 - Date.now();
      const content = await answer.json().catch(() => ({}));
      if (answer.ok) return content;
      throw new Problem(answer.status, content, Number(answer.headers.get("Retry-After")) || 0);
    }

    // Retries until there is a response; safe, because all requests of this element are idempotent.
    async until(path, body, offline, more) {
      for (let wait = 1; ; wait = Math.min(2 * wait, 16)) {
        try {
          return await this.call(path, body, more);
        } catch (trouble) {
          const reached = trouble instanceof Problem;
          if (reached && trouble.then !== "again") throw trouble;
          this.note(reached ? trouble.message : offline, true);
          await Promise.race([sleep(1000 * ((reached && trouble.after) || wait)),
            new Promise((done) => { addEventListener("online", done, { once: true }); })]);
          if (!this.isConnected) throw new Problem(0, { detail: "" }, 0);
        }
      }
    }

    // Exchanges the token of a link for a cookie. It is in the fragment, which no proxy sees or logs.
    async enter() {
      const token = this.linkToken;
      if (!token) return;
      try {
        await this.until("session?page=vote", {}, WAITING, { headers: { Authorization: `Bearer ${token}` } });
      } finally { history.replaceState(history.state, "", location.pathname + location.search); }
    }

    async begin() {
      this.lock(true);
      try { await this.enter(); } catch (problem) { this.stop(problem.message); return; }
      const kept = storage((s) => Object.keys(s).filter((key) => key.startsWith(this.mark))) || [];
      let message = "";
      for (const key of kept) { // unsent votes of an earlier visit
        const path = `duels/${encodeURIComponent(key.slice(this.mark.length))}/vote`;
        try {
          await this.until(path, { pick: localStorage.getItem(key) }, OFFLINE);
          message = "Your last vote, kept while you were offline, is saved now.";
        } catch (problem) { message = problem.message; }
        storage((s) => s.removeItem(key));
      }
      await this.ask(message);
    }

    async ask(message = "") {
      this.lock(true);
      this.ahead = [];
      this.forget();
      try {
        this.show(await this.until("duels", { voter: this.voter, resume: true }, WAITING), message);
        this.renewed -= RENEW - SOON;
      } catch (problem) { this.stop(problem.message); }
    }

    async pick(pick) {
      if (!this.ready) return;
      this.lock(true);
      this.forget();
      const { duel } = this;
      const held = this.ahead.pop();
      const key = this.mark + duel.duel;
      storage((kept) => kept.setItem(key, pick));
      try {
        const path = `duels/${encodeURIComponent(duel.duel)}/vote${held ? "" : "?next=1"}`;
        const answer = await this.until(path, { pick }, OFFLINE);
        storage((kept) => kept.removeItem(key));
        const message = answer.late ? "Saved, but late: the pair had been given back, so it is counted apart."
          : answer.counted === false && pick !== "skip" ? "Saved, but not counted: you have voted on this pair often enough today."
            : SAVED[pick];
        const next = held || answer.next;
        if (next) this.show(next, message); else await this.ask(message);
        if (answer.undo_until) { this.last = { duel, until: inMs(answer.undo_until) }; this.tick(); }
      } catch (problem) {
        storage((kept) => kept.removeItem(key));
        if (problem.then === "new" && held) this.show(held, problem.message, true);
        else if (problem.then === "new") await this.ask(problem.message);
        else this.stop(problem.message);
      }
    }

    async undo() {
      const { last } = this;
      if (!last || this.locked) return;
      this.lock(true);
      try {
        await this.call(`duels/${encodeURIComponent(last.duel.duel)}/undo`, {});
        this.forget();
        this.ahead.push(this.duel);
        this.show(last.duel, "Undone. Choose again.");
      } catch (trouble) {
        if (trouble instanceof Problem) this.forget();
        this.lock(false);
        this.note(trouble instanceof Problem ? trouble.message : "The arena could not be reached, so nothing was undone. Try again.", true);
      }
    }

    // -- leases: votes of others wait for an open pair, so a page holds its lease only while it is visible
    get held() { return [this.duel, ...this.ahead].map((duel) => duel?.duel).filter(Boolean); }

    leave() {
      const duels = this.held;
      if (this.away || !duels.length) return;
      this.away = true;
      const body = { duels, release: true, after: RETURN };
      // A beacon outlives the page, but cannot have the header that a token requires.
      if (this.getAttribute("token")) this.call("leases", body, { keepalive: true }).catch(() => {});
      else navigator.sendBeacon(`${this.api}leases`, new Blob([JSON.stringify(body)], { type: "application/json" }));
    }

    async back() {
      this.away = false;
      if (this.locked) return; // a vote is being sent; its response has the next pair
      this.lock(true);
      const kept = await this.renew();
      if (kept) { this.lock(false); if (this.at("note").textContent === ASLEEP) this.note(""); } else await this.ask(GIVEN_BACK);
    }

    // Returns whether the lease of the shown pair still exists; true if the connection is lost.
    async renew() {
      this.renewed = performance.now();
      const duels = this.held, asked = this.duel;
      if (!duels.length) return true;
      try {
        const { expires } = await this.call("leases", { duels });
        // Race: only duels of this request are in its response; an undo may have added another since.
        const ended = new Set(duels.filter((duel, place) => !expires[place]));
        this.ahead = this.ahead.filter((duel) => !ended.has(duel.duel));
        return asked !== this.duel || !ended.has(asked.duel);
      } catch (trouble) { return !(trouble instanceof Problem && trouble.then === "new"); }
    }

    async watch() {
      const now = performance.now();
      if (this.away || this.locked || document.hidden || !this.duel?.duel) return;
      if (now - this.active > IDLE) { this.leave(); this.note(ASLEEP, true); return; }
      if (now - this.renewed < RENEW) return;
      const { duel } = this;
      if (!(await this.renew()) && !this.locked && duel === this.duel) await this.ask(TROUBLE["duel-lost"][0]);
    }

    // -- display
    show(duel, message = "", trouble = false) {
      this.duel = duel;
      this.away = false;
      this.renewed = this.active = performance.now();
      const sole = duel.alone;
      const shown = sole ? [sole] : [duel.left, duel.right];
      this.fill(this.at("left"), shown[0]);
      if (!sole) this.fill(this.at("right"), shown[1]);
      this.root.querySelector(".pair").classList.toggle("alone", Boolean(sole));
      this.at("right").parentElement.hidden = Boolean(sole);
      this.at("left").parentElement.setAttribute("aria-label", sole ? "One option" : "Left option");
      this.at("question").hidden = Boolean(sole);
      this.root.querySelector('[data-pick="left"]').hidden = Boolean(sole);
      this.at("rest").hidden = Boolean(sole);
      this.at("onward").hidden = !sole;
      this.root.querySelector(".pair").hidden = false;
      this.note(message, trouble);
      const parts = ["left", "right"].slice(0, shown.length).map((side) => {
        const body = this.at(side);
        return `${sole ? "" : side === "left" ? "Left: " : "Right: "}${brief(body.textContent.trim() || body.querySelector("img")?.alt || "")}`;
      });
      this.at("announcement").textContent = `${sole ? "Nothing to compare just now." : "New pair."} ${parts.join(". ")}`;
      this.shown = performance.now();
      this.lock(false);
      if (document.hidden) this.leave();
      if (this.toQuestion && !sole) this.at("question").focus({ preventScroll: true });
      this.toQuestion = false;
    }

    fill(body, option) {
      const text = option.content || option.name;
      body.replaceChildren();
      body.className = "body";
      if (option.kind === "image" && IMAGE.test(text)) {
        const image = document.createElement("img");
        image.alt = option.name;
        image.referrerPolicy = "no-referrer";
        image.src = text;
        image.addEventListener("error", () => { body.textContent = `The image "${option.name}" could not be loaded.`; });
        body.append(image);
      } else if (option.kind === "markdown" && typeof option.html === "string") {
        body.innerHTML = option.html; // safe: generated by the server from an allow-list, the rest escaped
      } else {
        body.textContent = text;
        body.classList.add("text");
        body.classList.toggle("brief", text.length <= 120 && !text.includes("\n"));
      }
    }

    stop(message) {
      this.duel = null;
      for (const part of [this.root.querySelector(".pair"), this.at("question"), this.at("rest"), this.at("onward")]) part.hidden = true;
      this.lock(false);
      this.note(message, true);
    }

    note(text, trouble = false) {
      const note = this.at("note");
      if (note.textContent !== text) note.textContent = text;
      note.classList.toggle("trouble", trouble);
    }

    lock(locked) {
      this.locked = locked;
      this.tick();
    }

    get ready() { return !this.locked && !this.away && Boolean(this.duel) && performance.now() - this.shown > AT_ONCE; }
    forget() { this.last = null; this.tick(); }

    tick() {
      this.watch();
      const idle = !this.ready;
      this.toggleAttribute("data-ready", !idle);
      for (const button of this.root.querySelectorAll("[data-pick], [data-do=again]")) button.setAttribute("aria-disabled", String(idle));
      const undo = this.root.querySelector("[data-do=undo]");
      const rest = this.last ? this.last.until - Date.now() - this.skew : 0;
      if (rest <= 0) this.last = null;
      const focused = this.root.activeElement === undo;
      undo.hidden = !this.last;
      if (undo.hidden && focused) this.at("question").focus({ preventScroll: true });
      this.at("left-time").textContent = rest > 99000 ? `${Math.ceil(rest / 60000)} min` : `${Math.ceil(rest / 1000)} s`;
    }

    // -- input
    act(what) {
      if (what === "undo") this.undo();
      else if (this.duel?.alone) { if (this.ready && (what === "right" || what === "again")) this.ask(); }
      else this.pick(what);
    }

    onClick(event) {
      const button = event.target.closest("button");
      if (!button) return;
      if (event.detail > 1 && performance.now() - this.shown < DOUBLE) return; // the second click of a double click
      this.toQuestion = event.detail === 0; // keyboard or screen reader: move the focus to the question
      this.act(button.dataset.pick || button.dataset.do);
    }

    onKeydown(event) {
      const what = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!what || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
      if (event.composedPath()[0].closest?.("input, textarea, select, [contenteditable], pre")) return;
      event.preventDefault();
      if (!event.repeat) this.act(what);
    }
  }

  if (!customElements.get("drift-duel")) customElements.define("drift-duel", DriftDuel);
})();
