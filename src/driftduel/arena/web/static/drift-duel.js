/* <drift-duel arena="NAME" server="https://…" token="…" voter="…" question="…" keys="page">
   A custom element with two options and one question; the vote page consists of it, too. The default
   of `server` is the origin of this script. Without `token` the element uses the cookie of that server,
   which the token in the page's fragment sets if the element has the attribute `fragment`; the element
   then also sets title and language of the page. With the attribute `preview` it only displays what its
   method `show` receives. It handles keys while it has the focus, or on the whole
   page with keys="page". Question, instructions, buttons and language are settings of the arena. */
"use strict";
(() => {
  const HOME = document.currentScript ? new URL("..", document.currentScript.src).href : `${location.origin}/`;
  const AT_ONCE = 300, DOUBLE = 700; // ms: earlier clicks and keys were meant for the previous pair
  const RENEW = 20000, IDLE = 120000; // ms between renewals of the lease; ms without input until release
  const SOON = 2000; // ms until the first renewal: the release beacon of a reload may arrive after the new page's request
  const RETURN = 5; // s in which a renewal cancels a release, for example after a reload
  const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"];
  const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", b: "both-bad", s: "skip", u: "undo" };
  const PICKS = ["left", "right", "tie", "both-bad", "skip"], USUAL = PICKS.filter((pick) => pick !== "both-bad");
  const IMAGE = /^(https:\/\/|data:image\/(png|jpeg|webp|gif)[;,]|\/v1\/arenas\/)/i;
  const AUDIO = /^(https:\/\/|\/v1\/arenas\/)/i;

  // The words of this element; an arena's language and its owner replace some or all of them.
  const WORDS = {
    question: "Which one is better?", prompt: "Prompt", left: "Left", right: "Right", "left-option": "Left option", "right-option": "Right option",
    alone: "One option", better: "This one is better", "of-left": " (left)", "of-right": " (right)", tie: "They are equal",
    "both-bad": "Both are bad", skip: "Skip this pair", "go-on": "Go on", undo: "Undo", reason: "Why? (optional)",
    "saved-left": "Saved: left.", "saved-right": "Saved: right.", "saved-tie": "Saved: equal.", "saved-both-bad": "Saved: both bad.", "saved-skip": "Skipped.",
    "saved-before": "Your last vote, kept while you were offline, is saved now.",
    "saved-late": "Saved, but late: the pair had been given back, so it is counted apart.",
    "saved-uncounted": "Saved, but not counted: you have voted on this pair often enough today.",
    revealed: "Left was {left}, right was {right}.", undone: "Undone. Choose again.",
    "undo-offline": "The arena could not be reached, so nothing was undone. Try again.",
    "new-pair": "New pair.", "no-pair": "Nothing to compare just now.", "no-image": "The image could not be loaded.", "no-audio": "The sound could not be loaded.",
    offline: "You are offline. Your vote is kept here and will be sent as soon as you are back.",
    waiting: "You are offline. The next pair will come as soon as you are back.",
    "given-back": "The pair was given back while you were away. Here is another one.",
    asleep: "Nothing happened for two minutes, so the pair was given back. Touch the page, move the pointer or press a key to go on.",
    "no-entry": "This link does not let you vote here. Please ask for a new link.",
    "no-such-duel": "That pair is not known here any more. Here is a new one.",
    "already-answered": "You had answered that pair already, perhaps in another tab. Here is the next one.",
    "duel-lost": "That pair had been open for too long. Here is a new one.",
    "bad-vote": "The arena did not understand that vote. Here is a new pair.",
    "no-such-option": "One of the two has just been taken out. Here is a new pair.",
    "too-late": "Too late to undo: your vote has been counted.",
    "too-many": "That was quick! A short pause, then it goes on by itself.",
    "owned-elsewhere": "The arena is moving to another machine. It goes on by itself in a moment.",
    "store-trouble": "The arena cannot save votes just now. Nothing is lost: it will be tried again by itself.",
    "nothing-left": "Nothing is left to compare today. Thank you for your votes; come back tomorrow.",
    "nothing-more": "There is nothing more to compare here at the moment. Thank you for your votes.",
    closed: "This arena is closed. Thank you for your votes.",
    "no-such-arena": "There is no arena of this name here.",
  };

  // Action for each problem: show a "new" pair, try "again", "stop", or "stay" on this pair.
  const THEN = {
    "no-such-duel": "new", "already-answered": "new", "duel-lost": "new", "bad-vote": "new", "no-such-option": "new", "too-late": "stay",
    "too-many": "again", "owned-elsewhere": "again", "store-trouble": "again", "nothing-left": "stop", closed: "stop", "no-such-arena": "stop",
  };

  class Problem extends Error {
    constructor(status, body, after) {
      const name = String(body.type || "").split("/").pop();
      const known = THEN[name] ? name : status === 401 || status === 403 ? "no-entry"
        : status === 429 ? "too-many" : status >= 500 ? "store-trouble" : null;
      super(body.detail || body.title || `HTTP ${status}`);
      this.word = known; // the key of its message; null: the message of the server
      this.then = THEN[known] || "stop";
      this.after = after;
    }
  }

  const card = (side, key, arrow) => `
<div class="option" role="group" data-label="${side}-option"><div class="body" id="${side}" dir="auto" lang=""></div>
<button type="button" data-pick="${side}" aria-keyshortcuts="${key}"><span data-word="better"></span><span class="sr-only" data-word="of-${side}"></span> <kbd aria-hidden="true">${arrow}</kbd></button></div>`;
  const other = (pick, key, sign) => `
<button type="button" data-pick="${pick}" aria-keyshortcuts="${key}"><span data-word="${pick}"></span> <kbd aria-hidden="true">${sign}</kbd></button>`;
  const SHELL = `
<section aria-labelledby="question">
<p id="instructions" dir="auto" hidden></p>
<div id="prompt" role="group" data-label="prompt" hidden><div class="body" id="asked" dir="auto" lang=""></div></div>
<h2 id="question" tabindex="-1" dir="auto"></h2>
<div class="pair">${card("left", "ArrowLeft", "←")}${card("right", "ArrowRight", "→")}
</div>
<div class="row" id="rest">${other("tie", "ArrowDown", "↓")}${other("both-bad", "b", "b")}${other("skip", "s", "s")}
</div>
<div class="row" id="why" hidden><label><span data-word="reason"></span> <input id="reason" maxlength="1000" autocomplete="off" dir="auto"></label></div>
<div class="row" id="onward" hidden><button type="button" data-do="again" aria-keyshortcuts="ArrowRight"><span data-word="go-on"></span> <kbd aria-hidden="true">→</kbd></button></div>
<div class="row after"><p id="note" role="status"></p>
<button type="button" data-do="undo" aria-keyshortcuts="u" hidden><span data-word="undo"></span> <kbd aria-hidden="true">u</kbd> <span id="left-time" aria-hidden="true"></span></button></div>
<p class="sr-only" id="announcement" aria-live="polite"></p>
</section>`;

  const STYLE = `
:host { display: flex; flex-direction: column; max-height: 100dvh; color-scheme: light dark; container-type: inline-size;
  --page: #fff; --card: #f6f7f8; --text: #1b1f23; --quiet: #59636e; --rule: #c3cad1; --accent: #0b62a4;
  --k: #a626a4; --s: #0a5c2b; --n: #0550ae; --f: #6639ba; --b: #8a4600; --d: #a40e26;
  color: var(--text); font: 17px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :host { --page: #14181c; --card: #1d2328; --text: #e8ebee; --quiet: #a3adb7; --rule: #4a545e; --accent: #7cc0f5;
  --k: #f0a0ee; --s: #9ad8a8; --n: #79c0ff; --f: #d2b8ff; --b: #ffb870; --d: #ffa198; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
section { display: flex; flex-direction: column; min-height: 0; }
section > * { flex: none; }
#instructions { margin: 0 auto 12px; max-width: 46rem; white-space: pre-wrap; overflow-wrap: anywhere; }
#prompt { display: flex; flex-direction: column; max-height: 30dvh; margin: 0 auto 12px; width: 100%; max-width: 60rem; border-inline-start: 4px solid var(--accent); }
#prompt .body { padding: 4px 16px; min-height: 0; }
:host([preview]) :is(button, .row, h2) { display: none; }
h2 { margin: 0 0 14px; font-size: 1.35rem; line-height: 1.3; text-align: center; outline-offset: 4px; overflow-wrap: anywhere; }
.pair { flex: 0 1 auto; min-height: 0; display: grid; grid-template-columns: 1fr 1fr; grid-template-rows: minmax(0, auto); gap: 16px; }
.pair.alone { grid-template-columns: minmax(0, 46rem); justify-content: center; }
.option { display: flex; flex-direction: column; min-width: 0; min-height: 11rem; border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.body { flex: 1; padding: 18px 20px; min-height: 0; overflow: auto; overflow-wrap: anywhere; }
.option .body { border-radius: 10px 10px 0 0; /* a shade at the bottom where more text follows; the first layer covers it at the end */
  background: linear-gradient(var(--card), var(--card)) bottom / 100% 20px no-repeat local, linear-gradient(transparent, var(--rule)) bottom / 100% 20px no-repeat; }
.body.text { white-space: pre-wrap; }
.option .body.brief { display: grid; place-items: center; text-align: center; font-size: 1.25rem; }
.body img { max-width: 100%; }
.body > img, .body > audio { display: block; max-width: 100%; max-height: 46dvh; margin: auto; }
.body > :first-child { margin-top: 0; } .body > :last-child { margin-bottom: 0; }
.body .h1 { font-size: 1.25em; } .body .h2 { font-size: 1.12em; }
blockquote { margin: 0 0 1em; padding-inline-start: 14px; border-inline-start: 3px solid var(--rule); color: var(--quiet); }
.task { list-style: none; margin-inline-start: -1.2em; }
.scroll, .math { overflow-x: auto; max-width: 100%; margin: 0 0 1em; } .math { padding: 0.3em 0; }
table { border-collapse: collapse; overflow-wrap: normal; } th, td { border: 1px solid var(--rule); padding: 4px 10px; text-align: start; vertical-align: top; }
th.l, td.l, mtd.l { text-align: left; } th.c, td.c { text-align: center; } th.r, td.r, mtd.r { text-align: right; }
hr { border: 0; border-top: 1px solid var(--rule); }
pre { overflow-x: auto; padding: 10px; background: var(--page); border-radius: 6px; overflow-wrap: normal; }
code { font: 0.9em/1.4 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; }
pre .k { color: var(--k); } pre .s { color: var(--s); } pre .n { color: var(--n); } pre .f { color: var(--f); } pre .b { color: var(--b); } pre .d { color: var(--d); } pre .c { color: var(--quiet); font-style: italic; }
a { color: var(--accent); }
button, input { font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--rule); border-radius: 8px; padding: 10px 16px; min-height: 48px; }
button { cursor: pointer; touch-action: manipulation; }
label { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 10px; width: min(100%, 46rem); } input { flex: 1; min-width: 12rem; min-height: 44px; }
.option button { flex: none; margin: 10px 14px 14px; border-color: var(--accent); font-weight: 600; }
button:hover { background: var(--card); border-color: var(--accent); }
.option button:hover { background: var(--accent); color: var(--page); }
button[aria-disabled="true"] { cursor: default; border-style: dotted; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; } .body:focus-visible { outline-offset: -3px; border-radius: 8px; }
kbd { font: inherit; font-size: 0.85em; font-weight: 400; border: 1px solid currentColor; border-radius: 4px; padding: 0 7px; margin-left: 6px; }
@media (hover: none) { kbd { display: none; } }
.row { display: flex; flex-wrap: wrap; justify-content: center; align-items: center; gap: 12px; margin-top: 16px; }
.after { min-height: 52px; }
#note { margin: 0; max-width: 60ch; color: var(--quiet); overflow-wrap: anywhere; }
#note.trouble { color: var(--text); border-left: 4px solid var(--accent); padding-left: 10px; }
#left-time { display: inline-block; min-width: 2.6em; text-align: right; font-variant-numeric: tabular-nums; color: var(--quiet); }
.sr-only { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@container (max-width: 640px) {
  h2 { font-size: 1.15rem; margin-bottom: 8px; } #prompt { max-height: 16dvh; margin-bottom: 8px; } #instructions { margin-bottom: 8px; }
  .pair { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, auto) minmax(0, auto); gap: 8px; }
  .option { min-height: 7rem; } .body { padding: 12px 14px; } .after { min-height: 44px; } .after button { min-height: 44px; padding: 4px 12px; } #note { font-size: 0.9rem; line-height: 1.3; } .body > img { max-height: 26dvh; }
  .option button { margin: 6px 10px 8px; min-height: 44px; padding: 6px 12px; }
  .row { margin-top: 8px; gap: 8px; } #rest { flex-wrap: nowrap; } #rest button { flex: 1 1 0; min-width: 0; padding: 4px 6px; line-height: 1.2; overflow-wrap: anywhere; }
}`;

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });
  const brief = (text) => (text.length > 160 ? `${text.slice(0, 160)} …` : text);
  const fits = (part) => part.scrollHeight <= part.clientHeight + 1 && part.scrollWidth <= part.clientWidth + 1;
  const voteOf = (kept) => (kept.startsWith("{") ? JSON.parse(kept) : { pick: kept });
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
      this.words = WORDS;
      this.ahead = []; // open pairs that are shown later, because a vote was undone
      this.setUp({});
      this.root.addEventListener("click", (event) => this.onClick(event));
      for (const side of ["left", "right"]) this.at(side).addEventListener("scroll", () => this.follow(side), { passive: true });
      this.sizes = new ResizeObserver(() => this.markScrollable());
      this.onKey = (event) => this.onKeydown(event);
      this.onVisibility = () => { if (document.hidden) this.leave(); else this.onActivity(); };
      this.onHide = () => this.leave();
      this.onActivity = () => { this.active = performance.now(); if (this.away) this.back(); };
      this.onHash = () => { if (this.linkToken) this.begin(); };
    }

    connectedCallback() {
      for (const id of ["left", "right", "asked"]) this.sizes.observe(this.at(id));
      if (this.hasAttribute("preview")) return;
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
      this.sizes.disconnect();
      clearInterval(this.clock);
      this.leave();
    }

    at(name) { return this.root.getElementById(name); }
    part(selector) { return this.root.querySelector(selector); }
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

    // The request of an arena with features, as JSON; the server explains what is wrong with another text.
    get request() {
      const given = this.getAttribute("request");
      if (!given) return undefined;
      try { return JSON.parse(given); } catch { return given; }
    }

    // -- words and settings
    translate() {
      const { words } = this;
      for (const part of this.root.querySelectorAll("[data-word]")) part.textContent = words[part.dataset.word];
      for (const part of this.root.querySelectorAll("[data-label]")) part.setAttribute("aria-label", words[part.dataset.label]);
      this.at("question").textContent = this.getAttribute("question") || this.settings.question || words.question;
    }

    // Applies the settings of the arena; missing ones have the defaults.
    setUp(settings) {
      this.settings = settings;
      this.words = { ...WORDS, ...settings.translated };
      this.translate();
      const buttons = settings.buttons || USUAL;
      for (const pick of PICKS) this.part(`[data-pick="${pick}"]`).hidden = !buttons.includes(pick);
      this.at("why").hidden = !settings.reasons;
      this.at("instructions").textContent = settings.instructions || "";
      this.at("instructions").hidden = !settings.instructions;
      if (settings.show > 2) this.slate?.setUp();
      if (settings.language) this.part("section").lang = settings.language;
      if (!this.isConnected || !this.hasAttribute("fragment")) return;
      if (settings.language) document.documentElement.lang = settings.language;
      if (settings.title) { document.title = settings.title; document.querySelector("h1").textContent = settings.title; }
    }

    // With items there is no daily limit, so nothing changes tomorrow.
    message(problem) { return this.words[problem.word === "nothing-left" && this.settings.items ? "nothing-more" : problem.word] || problem.message; }

    // -- the server
    async call(path, body, more = {}) {
      const token = this.getAttribute("token");
      const answer = await fetch(this.api + path, {
        method: more.method || "POST",
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
          this.note(reached ? this.message(trouble) : this.words[offline], true);
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
        await this.until("session?page=vote", {}, "waiting", { headers: { Authorization: `Bearer ${token}` } });
      } finally { history.replaceState(history.state, "", location.pathname + location.search); }
    }

    // The cards of slates are a module, which pages with pairs do not load.
    async withSlates(duel, message, trouble) {
      this.lock(true);
      for (let wait = 1; !this.slate && this.isConnected; wait = Math.min(2 * wait, 16)) {
        const path = `static/drift-slate.js${wait > 1 ? `?${performance.now()}` : ""}`; // a failed load is remembered by its address
        try { this.slate = new (await import(new URL(path, this.server).href)).Slate(this); } catch { this.note(this.words.waiting, true); await sleep(1000 * wait); }
      }
      if (this.slate) this.show(duel, message, trouble);
    }

    async begin() {
      this.lock(true);
      try { await this.enter(); } catch (problem) { this.stop(this.message(problem)); return; }
      try { this.setUp(await this.until("page", undefined, "waiting", { method: "GET" })); } catch (problem) { if (["no-entry", "no-such-arena"].includes(problem.word)) { this.stop(this.message(problem)); return; } }
      const kept = storage((s) => Object.keys(s).filter((key) => key.startsWith(this.mark))) || [];
      let message = "";
      for (const key of kept) { // unsent votes of an earlier visit
        const path = `duels/${encodeURIComponent(key.slice(this.mark.length))}/vote`;
        try {
          await this.until(path, voteOf(localStorage.getItem(key)), "offline");
          message = this.words["saved-before"];
        } catch (problem) { message = this.message(problem); }
        storage((s) => s.removeItem(key));
      }
      await this.ask(message);
    }

    async ask(message = "") {
      this.lock(true);
      this.ahead = [];
      this.forget();
      try {
        this.show(await this.until("duels", { voter: this.voter, resume: true, request: this.request }, "waiting"), message);
        this.renewed -= RENEW - SOON;
      } catch (problem) { this.stop(this.message(problem)); }
    }

    async pick(pick) {
      if (!this.ready || this.part(`[data-pick="${pick}"]`).hidden) return;
      await this.answer({ pick }, this.words[`saved-${pick}`]);
    }

    async answer(given, saved) {
      const { pick } = given;
      this.lock(true);
      this.forget();
      const { duel } = this;
      const held = this.ahead.pop();
      const key = this.mark + duel.duel;
      const reason = this.at("why").hidden ? "" : this.at("reason").value.trim();
      const vote = reason ? { ...given, reason } : given;
      storage((kept) => kept.setItem(key, JSON.stringify(vote)));
      try {
        const path = `duels/${encodeURIComponent(duel.duel)}/vote${held ? "" : "?next=1"}`;
        const answer = await this.until(path, vote, "offline");
        storage((kept) => kept.removeItem(key));
        this.at("reason").value = "";
        const { words } = this, { revealed } = answer;
        const names = revealed?.options ? ` ${this.slate.names(revealed.options)}` : revealed ? ` ${words.revealed.replace(/\{(left|right)\}/g, (_, side) => revealed[side].name)}` : "";
        const message = (answer.late ? words["saved-late"] : answer.counted === false && pick !== "skip" ? words["saved-uncounted"] : saved) + names;
        const next = held || answer.next;
        if (next) this.show(next, message); else await this.ask(message);
        if (answer.undo_until) { this.last = { duel, until: inMs(answer.undo_until) }; this.tick(); }
      } catch (problem) {
        storage((kept) => kept.removeItem(key));
        const message = this.message(problem);
        if (problem.then === "new" && held) this.show(held, message, true);
        else if (problem.then === "new") await this.ask(message);
        else this.stop(message);
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
        this.show(last.duel, this.words.undone);
      } catch (trouble) {
        if (trouble instanceof Problem) this.forget();
        this.lock(false);
        this.note(trouble instanceof Problem ? this.message(trouble) : this.words["undo-offline"], true);
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
      if (kept) { this.lock(false); if (this.at("note").textContent === this.words.asleep) this.note(""); } else await this.ask(this.words["given-back"]);
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
      if (now - this.active > IDLE) { this.leave(); this.note(this.words.asleep, true); return; }
      if (now - this.renewed < RENEW) return;
      const { duel } = this;
      if (!(await this.renew()) && !this.locked && duel === this.duel) await this.ask(this.words["duel-lost"]);
    }

    // -- display
    show(duel, message = "", trouble = false) {
      const { options } = duel;
      if (options && !this.slate) { this.withSlates(duel, message, trouble); return; }
      this.duel = duel;
      this.away = false;
      this.renewed = this.active = performance.now();
      const sole = duel.alone, { words } = this;
      if (options) this.slate.show(duel);
      else {
        this.slate?.hide();
        this.fill(this.at("left"), sole || duel.left, words["left-option"]);
        if (!sole) this.fill(this.at("right"), duel.right, words["right-option"]);
      }
      this.at("prompt").hidden = !duel.prompt;
      if (duel.prompt) this.fill(this.at("asked"), duel.prompt, words.prompt);
      this.part(".pair").classList.toggle("alone", Boolean(sole));
      this.at("right").parentElement.hidden = Boolean(sole);
      this.at("left").parentElement.setAttribute("aria-label", sole ? words.alone : words["left-option"]);
      this.at("question").hidden = Boolean(sole);
      this.part('[data-pick="left"]').hidden = Boolean(sole);
      this.at("rest").hidden = Boolean(sole);
      this.at("why").hidden = Boolean(sole) || !this.settings.reasons;
      this.at("onward").hidden = !sole;
      this.part(".pair").hidden = Boolean(options);
      this.note(message, trouble);
      const read = (id) => brief(this.at(id).textContent.trim() || this.part(`#${id} img`)?.alt || "");
      const parts = options ? this.slate.read(brief) : sole ? [read("left")] : [`${words.left}: ${read("left")}`, `${words.right}: ${read("right")}`];
      if (duel.prompt) parts.unshift(`${words.prompt}: ${read("asked")}`);
      this.at("announcement").textContent = `${sole ? words["no-pair"] : words["new-pair"]} ${parts.join(". ")}`;
      this.markScrollable();
      this.shown = performance.now();
      this.lock(false);
      if (document.hidden) this.leave();
      if (this.toQuestion && !sole) this.at("question").focus({ preventScroll: true });
      this.toQuestion = false;
    }

    // `label` names an image without a name: with items, names of options stay hidden.
    fill(body, option, label) {
      const text = option.content || option.name;
      body.replaceChildren();
      body.className = "body";
      body.scrollTop = 0;
      const media = option.kind === "image" && IMAGE.test(text) ? "img" : option.kind === "audio" && AUDIO.test(text) ? "audio" : null;
      if (media) {
        const made = document.createElement(media);
        if (media === "img") { made.alt = option.name || label; made.referrerPolicy = "no-referrer"; } else { made.controls = true; made.setAttribute("aria-label", label); }
        made.src = this.resolve(text);
        made.addEventListener("error", () => { body.textContent = this.words[media === "img" ? "no-image" : "no-audio"]; });
        body.append(made);
      } else if (option.kind === "markdown" && typeof option.html === "string") {
        const template = document.createElement("template");
        template.innerHTML = option.html; // safe: generated by the server from an allow-list, the rest escaped
        for (const image of template.content.querySelectorAll("img")) image.setAttribute("src", this.resolve(image.getAttribute("src")));
        body.append(template.content);
      } else {
        body.textContent = text;
        body.classList.add("text");
        body.classList.toggle("brief", text.length <= 120 && !text.includes("\n"));
      }
    }

    // Uploaded files have a path of the server, which may be another site, or below a path.
    resolve(address) { return address.startsWith("/v1/") ? new URL(address.slice(1), this.server).href : address; }

    // Parts that scroll can have the focus, so that keys scroll them.
    markScrollable() {
      for (const part of this.root.querySelectorAll(".body, .body pre, .body .scroll, .body .math")) {
        if (fits(part)) part.removeAttribute("tabindex"); else part.tabIndex = 0;
      }
    }

    // Scrolls the other option to the same share of its length.
    follow(side) {
      const from = this.at(side), to = this.at(side === "left" ? "right" : "left");
      if (this.followed === side) { this.followed = null; return; }
      const length = from.scrollHeight - from.clientHeight;
      const top = Math.round(length > 0 ? (from.scrollTop / length) * (to.scrollHeight - to.clientHeight) : 0);
      if (Math.abs(to.scrollTop - top) < 1) return;
      this.followed = to.id; // its own event must not scroll this one again
      to.scrollTop = top;
    }

    stop(message) {
      this.duel = null;
      this.slate?.hide();
      for (const part of [this.part(".pair"), ...["prompt", "question", "rest", "why", "onward"].map((id) => this.at(id))]) part.hidden = true;
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
      for (const button of this.root.querySelectorAll("[data-pick], [data-card], [data-do=again]")) button.setAttribute("aria-disabled", String(idle));
      this.slate?.refresh();
      const undo = this.part("[data-do=undo]");
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
      else if (what === "send") this.slate.send();
      else if (this.duel?.alone) { if (this.ready && (what === "right" || what === "again")) this.ask(); }
      else this.pick(what);
    }

    onClick(event) {
      const button = event.target.closest("button");
      if (!button) return;
      if (event.detail > 1 && performance.now() - this.shown < DOUBLE) return; // the second click of a double click
      this.toQuestion = event.detail === 0; // keyboard or screen reader: move the focus to the question
      if (button.dataset.card) this.slate.choose(Number(button.dataset.card));
      else this.act(button.dataset.pick || button.dataset.do);
    }

    onKeydown(event) {
      const target = event.composedPath()[0];
      if (target.closest?.("input, textarea, select, audio, [contenteditable], pre[tabindex], .scroll[tabindex], .math[tabindex]")) return;
      if (this.duel?.options) { this.slate?.onKeydown(event, target); return; }
      const what = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!what || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
      if (what === "tie" && target.matches?.(".body[tabindex]")) return; // there the key scrolls
      event.preventDefault();
      if (!event.repeat) this.act(what);
    }
  }

  if (!customElements.get("drift-duel")) customElements.define("drift-duel", DriftDuel);
})();
