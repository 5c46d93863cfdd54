/* Differences by tag, and the items that an option loses most; both are fetched apart from the board. */
import { cell, fill, rowHead } from "./board-tables.js";
import { made } from "./elements.js";
import { counted, interval, share, whole } from "./wording.js";

const at = (id) => document.getElementById(id);
const PAUSE = 10000; // ms between two requests while votes arrive
const SHOWN = 30; // rows of a table
const ITEMS = 10;
const TAGS = 12; // tags with a sentence
// The server marks code with backquotes, for terminals.
const plain = (text) => text.replaceAll("`", "");

// A share with its 95% interval; marked where the interval excludes the overall share.
function shares(row) {
  const wins = cell(share(row.share), row.share, interval(row.low, row.high, share));
  wins.className = row.high < row.overall ? "below" : row.low > row.overall ? "above" : "";
  return [wins, cell(share(row.overall), row.overall), cell(whole(row.votes), row.votes)];
}

function choose(select, options, value) {
  if (select.options.length === options.length && options.every(([one], i) => select.options[i].value === one)) return;
  select.replaceChildren(...options.map(([one, text]) => made("option", text, { value: one })));
  select.value = options.some(([one]) => one === value) ? value : options[0][0];
}

export class TagSection {
  // `filter` is the text KEY:VALUE of the page's address, or null.
  constructor(api, filter) {
    this.api = api;
    this.filter = filter;
    this.seq = -1;
    this.busy = false;
    this.owner = true; // until the server refuses
    at("tag-key").addEventListener("change", () => this.compare());
    at("tag-filter").addEventListener("change", () => {
      const { value } = at("tag-filter");
      location.assign(value ? `?${new URLSearchParams({ tag: value })}` : location.pathname);
    });
    at("lost-option").addEventListener("change", () => this.lost());
  }

  async fetch(path) {
    const answer = await fetch(`${this.api}/${path}`, { cache: "no-store" });
    return { status: answer.status, body: await answer.json().catch(() => ({})) };
  }

  // Called after each change of the board.
  update(board) {
    this.board = board;
    if (this.busy || board.seq === this.seq) return;
    this.busy = true;
    this.refresh().catch(() => { this.seq = -1; }).finally(() => {
      setTimeout(() => { this.busy = false; if (this.board.seq !== this.seq) this.update(this.board); }, PAUSE);
    });
  }

  async refresh() {
    this.seq = this.board.seq;
    const { body } = await this.fetch("tags");
    const tags = body.tags || [];
    at("tags-part").hidden = !tags.length;
    if (!tags.length) return;
    // A tag with one value has nothing to compare; it can be a filter.
    const several = tags.filter(({ count }) => count > 1);
    const found = await Promise.all(several.slice(0, TAGS).map(({ tag }) => this.differences(tag)));
    at("tag-statements").replaceChildren(...found.map(({ status, body }, i) => (
      made("li", status === 200 ? plain(body.statement) : plain(body.detail || `${several[i].tag} cannot be compared just now.`), body.matters ? { class: "sure" } : {}))));
    const most = found.reduce((best, { body }, i) => ((body.evidence || 0) > (found[best].body.evidence || 0) ? i : best), 0);
    const keys = several.length ? several : tags;
    const first = this.filter ? this.filter.split(":")[0] : keys[most].tag;
    choose(at("tag-key"), keys.map(({ tag, count }) => [tag, `${tag} (${counted(count, "value")})`]), first);
    const all = tags.flatMap(({ tag, values }) => values.map(({ value, votes }) => [`${tag}:${value}`, `${tag}: ${value} (${counted(votes, "vote")})`]));
    if (this.filter && !all.some(([one]) => one === this.filter)) all.push([this.filter, this.filter]);
    choose(at("tag-filter"), [["", "all votes"], ...all], this.filter || "");
    await this.compare();
    if (this.owner && this.board.items) await this.lost();
  }

  differences(tag) { return this.fetch(`differences?${new URLSearchParams({ by: tag })}`); }

  async compare() {
    const tag = at("tag-key").value;
    const { status, body } = await this.differences(tag);
    const found = status === 200;
    for (const id of ["tag-shares-part", "tag-limits-part"]) at(id).hidden = !found;
    const remarks = found ? body.remarks : [];
    const warnings = remarks.slice(0, found ? body.reversed.length : 0);
    at("tag-warnings").replaceChildren(...warnings.map((text) => made("p", plain(text))));
    at("tag-warnings").hidden = !warnings.length;
    at("tag-limits").replaceChildren(...remarks.slice(warnings.length).map((text) => made("p", plain(text))));
    if (!found) return;
    // The largest losses first: they answer "where does an option lose?".
    const rows = body.shares.sort((one, other) => one.share - one.overall - (other.share - other.overall));
    fill("tag-shares", rows.slice(0, SHOWN).map((row) => [rowHead(row.option), made("td", row.value, { class: "words", "data-value": row.value }), ...shares(row)]));
    at("tag-more").textContent = rows.length > SHOWN ? `${counted(rows.length - SHOWN, "further row")}: driftduel arena board NAME --by ${tag} --json` : "";
  }

  // Items are shown to owners only: a reader's token gets the status 403.
  async lost() {
    choose(at("lost-option"), this.board.ranking.map(({ id, name }) => [id, name]), "");
    const { status, body } = await this.fetch(`lost-items?${new URLSearchParams({ option: at("lost-option").value, limit: ITEMS })}`);
    this.owner = status === 200;
    at("lost-part").hidden = !this.owner;
    if (!this.owner) return;
    fill("lost-items", body.items.map((row) => [rowHead(row.item), ...shares(row)]));
    at("lost-none").hidden = body.items.length > 0;
  }
}
