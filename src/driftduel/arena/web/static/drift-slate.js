/* The cards of a slate: three to six options, of which one is picked, or which are put in order.
   drift-duel.js loads this module for arenas that show more than two options. */
"use strict";

// The words of this module. Those that begin with "slate-" replace the words for pairs of drift-duel.js.
export const WORDS = {
  card: "Option {n}", "card-of": "Option {n} of {all}", best: "This one is best", "of-card": " (option {n})",
  "slate-question": "Which one is best?", "rank-question": "Put them in order, the best first.",
  "rank-hint": "Press the options in order, or drag them here by their number. You may leave out the worst.",
  place: "Place {n}", "take-place": "Put in place {n}", order: "Your order", send: "Send this order",
  "now-place": "Option {n}: place {place}.", "no-place": "Option {n}: no place.",
  "saved-card": "Saved: option {n}.", "saved-order": "Saved: {order}.", "revealed-card": "Option {n} was {name}.",
  "slate-tie": "All are equal", "slate-both-bad": "All are bad", "slate-skip": "Skip these", "slate-saved-both-bad": "Saved: all bad.",
  "slate-saved-late": "Saved, but late: the options had been given back, so it is counted apart.",
  "slate-saved-uncounted": "Saved, but not counted: you have voted on these options often enough today.",
  "slate-new-pair": "New options.",
  "slate-waiting": "You are offline. The next options will come as soon as you are back.",
  "slate-given-back": "The options were given back while you were away. Here are others.",
  "slate-asleep": "Nothing happened for two minutes, so the options were given back. Touch the page, move the pointer or press a key to go on.",
  "slate-no-such-duel": "Those options are not known here any more. Here are new ones.",
  "slate-already-answered": "You had answered those options already, perhaps in another tab. Here are the next ones.",
  "slate-duel-lost": "Those options had been open for too long. Here are new ones.",
  "slate-bad-vote": "The arena did not understand that vote. Here are new options.",
  "slate-no-such-option": "One of the options has just been taken out. Here are new ones.",
};

const FAR = 6; // px: shorter movements of a pointer are no drag
const KEYS = { 0: "tie", b: "both-bad", s: "skip", u: "undo" };

const STYLE = `
.cards { flex: 0 1 auto; min-height: 0; display: grid; gap: 12px 16px; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-auto-rows: minmax(0, auto); }
.cards.wide { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.cards .option { min-height: 9rem; }
.head { display: flex; justify-content: space-between; gap: 10px; padding: 6px 14px 0; color: var(--quiet); font-size: 0.9rem; }
.ranks .number::before { content: "⠿ "; content: "⠿ " / ""; }
.ranks button[aria-pressed="true"]::after { content: " ✕"; content: " ✕" / ""; font-weight: 400; margin-inline-start: 8px; }
.head .place { font-weight: 600; color: var(--accent); }
.ranks [data-drag] { cursor: grab; touch-action: none; user-select: none; -webkit-user-select: none; }
.cards .body { padding-top: 8px; }
.cards .option.ranked { border-color: var(--accent); outline: 1px solid var(--accent); }
.option button[aria-pressed="true"] { background: var(--accent); color: var(--page); }
.target, .cards .option.target { outline: 3px dashed var(--accent); outline-offset: 2px; } .dragged { opacity: 0.55; }
#order { display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: 10px; margin-top: 12px; }
#order ol { display: flex; flex-wrap: wrap; gap: 8px; margin: 0; padding: 4px; min-height: 44px; min-width: min(100%, 16rem); align-items: center; border: 1px dashed var(--rule); border-radius: 8px; list-style: none; }
#order li { display: flex; align-items: center; gap: 8px; min-height: 36px; padding: 2px 12px; border: 1px solid var(--accent); border-radius: 8px; background: var(--card); }
#order li.none { border: 0; background: none; color: var(--quiet); font-size: 0.9rem; max-width: 46ch; line-height: 1.3; }
#order button { border-color: var(--accent); font-weight: 600; }
@container (max-width: 900px) { .cards.wide { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@container (max-width: 640px) {
  .cards, .cards.wide { grid-template-columns: minmax(0, 1fr); grid-auto-rows: auto; gap: 10px; overflow: auto; }
  .cards .option { min-height: 0; } .cards .body { max-height: 50dvh; } .head { padding: 4px 12px 0; }
  .cards .option .body.brief { font-size: 1.1rem; padding: 4px 14px; }
  #order { position: sticky; bottom: 0; margin: 8px -4px 0; padding: 6px 4px; background: var(--page); border-top: 1px solid var(--rule); gap: 6px; }
  #order ol { flex: 1 1 100%; gap: 6px; } #order li { padding: 0 10px; min-height: 34px; } #order button { flex: 1 1 auto; padding: 4px 12px; min-height: 44px; }
}
@media (max-width: 640px) { :host([data-slate]) { max-height: none; } :host([data-slate]) :is(section, .cards) { min-height: auto; overflow: visible; } }`;

const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);

const put = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);

const CARD = `<div class="head"><span class="number"></span><span class="place" aria-hidden="true"></span></div>
<div class="body" dir="auto" lang=""></div>
<button type="button"><span class="what"></span><span class="sr-only which"></span> <kbd aria-hidden="true"></kbd></button>`;

export class Slate {
  constructor(host) {
    this.host = host;
    this.ranking = [];
    this.cards = [];
    host.root.adoptedStyleSheets = [...host.root.adoptedStyleSheets, sheet];
    this.grid = document.createElement("div");
    this.grid.className = "cards";
    host.part(".pair").after(this.grid);
    this.bar = document.createElement("div");
    this.bar.id = "order";
    this.bar.innerHTML = `<ol data-drop></ol><button type="button" data-do="send"><span></span> <kbd aria-hidden="true">⏎</kbd></button>`;
    this.grid.after(this.bar);
    for (const [sign, handler] of [["pointerdown", "grab"], ["pointermove", "drag"], ["pointerup", "drop"], ["pointercancel", "release"]]) {
      host.root.addEventListener(sign, (event) => this[handler](event));
    }
    this.hide();
    this.setUp();
  }

  get ranks() { return this.host.settings.feedback === "ranking"; }

  // Puts the words for slates in the place of those for pairs.
  setUp() {
    const { host } = this, words = { ...WORDS, ...host.words };
    for (const key of Object.keys(WORDS)) {
      if (key.startsWith("slate-")) words[key.slice(6)] = words[key];
    }
    if (this.ranks) words.question = words["rank-question"];
    host.words = words;
    host.translate();
    this.bar.querySelector("button span").textContent = words.send;
    this.bar.querySelector("ol").setAttribute("aria-label", words.order);
  }

  hide() {
    this.grid.hidden = this.bar.hidden = true;
    this.host.removeAttribute("data-slate");
    this.mark("tie", "ArrowDown", "↓");
  }

  mark(pick, key, sign) {
    const button = this.host.part(`#rest [data-pick="${pick}"]`);
    button.setAttribute("aria-keyshortcuts", key);
    button.querySelector("kbd").textContent = sign;
  }

  show(duel) {
    const { host } = this, { words } = host, { options } = duel;
    this.ranking = [...(duel.ranking || [])]; // that of a vote that was undone
    this.grid.hidden = false;
    this.grid.className = `cards${this.ranks ? " ranks" : ""}${[3, 5, 6].includes(options.length) ? " wide" : ""}`;
    this.bar.classList.toggle("ranks", this.ranks);
    this.bar.hidden = !this.ranks;
    host.setAttribute("data-slate", "");
    this.mark("tie", "0", "0");
    this.cards = options.map((option, place) => {
      const n = place + 1, card = document.createElement("div");
      card.className = "option";
      card.setAttribute("role", "group");
      card.setAttribute("aria-label", put(words["card-of"], { n, all: options.length }));
      card.dataset.drop = n;
      card.innerHTML = CARD;
      card.querySelector(".number").textContent = put(words.card, { n });
      if (this.ranks) card.querySelector(".head").dataset.drag = n;
      const button = card.querySelector("button");
      button.dataset.card = n;
      button.setAttribute("aria-keyshortcuts", this.ranks ? `${n} Alt+ArrowUp Alt+ArrowDown` : `${n}`);
      button.querySelector(".what").textContent = words.best;
      button.querySelector(".which").textContent = put(words["of-card"], { n });
      button.querySelector("kbd").textContent = n;
      host.fill(card.querySelector(".body"), option, put(words.card, { n }));
      return card;
    });
    this.grid.replaceChildren(...this.cards);
    for (const card of this.cards) host.sizes.observe(card.querySelector(".body"));
    if (this.ranks) this.draw();
  }

  // What a screen reader says of the cards.
  read(brief) {
    return this.cards.map((card, place) => {
      const body = card.querySelector(".body");
      return `${put(this.host.words.card, { n: place + 1 })}: ${brief(body.textContent.trim() || body.querySelector("img")?.alt || "")}`;
    });
  }

  names(options) {
    return options.map((option, place) => put(this.host.words["revealed-card"], { n: place + 1, name: option.name })).join(" ");
  }

  // -- answers
  choose(n) {
    const { host } = this;
    if (!host.ready || !this.cards[n - 1]) return;
    if (this.ranks) this.rank(n, this.ranking.includes(n) ? 0 : this.ranking.length + 1);
    else host.answer({ pick: n }, put(host.words["saved-card"], { n }));
  }

  send() {
    const { host, ranking } = this;
    if (!host.ready || !ranking.length) return;
    host.duel.ranking = ranking;
    host.answer({ ranking }, put(host.words["saved-order"], { order: ranking.join(" > ") }));
  }

  // Gives a card a place, from 1; 0 takes its place away.
  rank(n, place) {
    const { words } = this.host;
    const others = this.ranking.filter((each) => each !== n);
    if (place) others.splice(Math.min(place, others.length + 1) - 1, 0, n);
    this.ranking = others;
    this.draw();
    const now = others.indexOf(n) + 1;
    this.host.at("announcement").textContent = put(words[now ? "now-place" : "no-place"], { n, place: now });
  }

  draw() {
    const { words } = this.host, { ranking } = this, next = ranking.length + 1;
    this.cards.forEach((card, index) => {
      const n = index + 1, place = ranking.indexOf(n) + 1, button = card.querySelector("button");
      card.classList.toggle("ranked", place > 0);
      card.querySelector(".place").textContent = place ? put(words.place, { n: place }) : "";
      button.querySelector(".what").textContent = put(words[place ? "place" : "take-place"], { n: place || next });
      button.setAttribute("aria-pressed", String(place > 0));
    });
    const chips = ranking.map((n, place) => {
      const chip = document.createElement("li"), number = document.createElement("b");
      chip.dataset.drag = chip.dataset.drop = n;
      number.textContent = `${place + 1}.`;
      chip.append(number, put(words.card, { n }));
      return chip;
    });
    if (!chips.length) {
      const hint = document.createElement("li");
      hint.className = "none";
      hint.textContent = words["rank-hint"];
      chips.push(hint);
    }
    this.bar.querySelector("ol").replaceChildren(...chips);
    this.refresh();
  }

  // Called several times a second, so it leaves the chips alone: one may be in the hand of the voter.
  refresh() { this.bar.querySelector("button").setAttribute("aria-disabled", String(!this.ranking.length || !this.host.ready)); }

  // -- dragging: a card or a chip takes the place of the one it is dropped on
  grab(event) {
    const from = event.target.closest("[data-drag]");
    if (!from || !this.ranks || event.button || !this.host.ready) return;
    this.held = { n: Number(from.dataset.drag), x: event.clientX, y: event.clientY, from, moved: false };
    if (from.hasPointerCapture?.(event.pointerId)) from.releasePointerCapture(event.pointerId); // a touch captures by itself
  }

  drag(event) {
    const { held } = this;
    if (!held) return;
    if (!held.moved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < FAR) return;
    held.moved = true;
    (held.from.closest(".option") || held.from).classList.add("dragged");
    const target = this.host.root.elementFromPoint(event.clientX, event.clientY)?.closest("[data-drop]");
    this.unmark("target");
    target?.classList.add("target");
    held.target = target;
  }

  drop() {
    const { held } = this;
    this.release();
    if (!held?.moved || !held.target || !this.host.ready) return;
    const onto = Number(held.target.dataset.drop) || 0;
    if (onto === held.n) return;
    this.rank(held.n, this.ranking.indexOf(onto) + 1 || this.ranking.length + 1);
  }

  release() {
    this.held = null;
    this.unmark("target");
    this.unmark("dragged");
  }

  unmark(name) { for (const part of this.host.root.querySelectorAll(`.${name}`)) part.classList.remove(name); }

  // -- keys
  onKeydown(event, target) {
    const { host } = this, { key } = event;
    const plain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
    const card = target.closest?.(".cards .option");
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[key];
    let act = null;
    if (event.altKey && !event.ctrlKey && !event.metaKey && step && this.ranks && card) act = () => this.move(Number(card.dataset.drop), step);
    else if (!plain) return;
    else if (/^[1-6]$/.test(key)) act = () => this.choose(Number(key));
    else if (key === "Backspace" && this.ranks) act = () => this.ranking.length && host.ready && this.rank(this.ranking.at(-1), 0);
    else if (key === "Enter" && this.ranks && !target.closest?.("button, a")) act = () => this.send();
    else if (KEYS[key.toLowerCase()]) act = () => host.act(KEYS[key.toLowerCase()]);
    if (!act) return;
    event.preventDefault();
    host.toQuestion = true;
    if (!event.repeat) act();
  }

  // Moves a card up or down in the order; up gives the next place to one without a place.
  move(n, step) {
    if (!this.host.ready) return;
    const place = this.ranking.indexOf(n) + 1;
    if (!place && step > 0) return;
    const wanted = place ? place + step : this.ranking.length + 1;
    this.rank(n, wanted > this.ranking.length && place ? 0 : Math.max(wanted, 1));
  }
}
