/* Figures of a board: reigns of the leaders, and strengths over time with their bands (uPlot). */
import { made, svg } from "./elements.js";
import { interval, moment, share, short, when } from "./wording.js";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 3]];
const COLOURS = 8; // --line-0 to --line-7 in board.css
const MOST = 6; // default number of lines

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (place) => ink(`--line-${place % COLOURS}`);
const dash = (place) => DASHES[(place + Math.floor(place / COLOURS)) % DASHES.length];
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// An option keeps its colour and its dashes for as long as the page is open.
const places = new Map();
export function placeOf(id) {
  if (!places.has(id)) places.set(id, places.size);
  return places.get(id);
}

export function swatch(place) {
  const box = svg("svg", { class: "swatch", viewBox: "0 0 30 10", "aria-hidden": "true" });
  box.append(svg("line", { x1: 0, x2: 30, y1: 5, y2: 5, stroke: colour(place), "stroke-width": 3, "stroke-dasharray": dash(place).join(" ") }));
  return box;
}

// Reigns in a row, with widths proportional to their votes; the list beside it has the same content.
export function reigns(box, board) {
  const { changes } = board;
  const begin = changes.length === board.lead_changes ? 0 : changes[0].vote; // the oldest ones are not listed
  const parts = [{ after: changes.length ? changes[0].before : board.leader, vote: begin }, ...changes]
    .map((change, i) => ({ to: change.after, from: change.vote, until: changes[i]?.vote ?? Math.max(board.learned, change.vote) }))
    .filter((part) => part.to && part.until > part.from);
  box.replaceChildren(...parts.map((part) => {
    const place = placeOf(part.to.id);
    const brief = part.until - part.from < 0.1 * (board.learned - begin); // its name would be cut to a letter
    const piece = made("span", brief ? "" : part.to.name, { title: `${part.to.name}: votes ${short(part.from)} to ${short(part.until)}` });
    piece.style.setProperty("flex-grow", String(part.until - part.from));
    piece.style.setProperty("border-top", `6px ${dash(place).length ? "dashed" : "solid"} ${colour(place)}`);
    return piece;
  }));
  box.hidden = parts.length < 1;
}

export class Strengths {
  constructor(box, legend, says) {
    [this.box, this.legend, this.says] = [box, legend, says];
    this.chosen = new Map(); // id: whether the reader has switched its line on or off
    new ResizeObserver(() => this.resize()).observe(box);
    document.addEventListener("theme", () => { if (this.board) this.draw(this.board); });
  }

  wanted(id) {
    if (this.chosen.has(id)) return this.chosen.get(id);
    const ranked = [...this.board.ranking].sort((one, other) => (one.rank || 1e9) - (other.rank || 1e9));
    return ranked.slice(0, MOST).some((option) => option.id === id);
  }

  draw(board) {
    this.board = board;
    const history = board.history || { votes: [], series: [] };
    const few = history.votes.length < 2;
    this.box.hidden = this.legend.hidden = few;
    this.says.textContent = few ? "After some more votes there will be a picture here." : "";
    for (const series of history.series) placeOf(series.id);
    if (few) return;
    const names = new Map(board.ranking.map((option) => [option.id, option.name]));
    const shown = history.series.filter((series) => this.wanted(series.id));
    this.lines = shown.map((series) => ({ id: series.id, name: names.get(series.id) || series.id, place: placeOf(series.id) }));
    const data = [history.votes, ...shown.flatMap((series) => [series.strength, series.high, series.low])];
    const shape = `${ink("--text")} ${shown.map((series) => series.id).join(" ")}`;
    if (this.plot && this.shape === shape) this.plot.setData(data);
    else this.begin(data, shape);
    this.buttons(history, names);
  }

  begin(data, shape) {
    this.plot?.destroy();
    this.shape = shape;
    const axis = { stroke: ink("--quiet"), grid: { stroke: ink("--grid"), width: 1 }, ticks: { stroke: ink("--grid") }, font: "12px system-ui, sans-serif" };
    const none = { points: { show: false }, stroke: "transparent", width: 0 };
    const series = this.lines.flatMap(({ name, place }) => [
      { label: name, stroke: colour(place), width: 2, dash: dash(place), points: { show: false } }, { ...none }, { ...none },
    ]);
    const bands = this.lines.map(({ place }, i) => ({ series: [3 * i + 2, 3 * i + 3], fill: `${colour(place)}22` }));
    this.plot = new uPlot({ // eslint-disable-line no-undef
      width: this.box.clientWidth, height: this.height(), padding: [10, this.margin(), 0, 0],
      scales: { x: { time: false } }, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map(short), label: this.box.clientWidth < 560 ? "votes; dotted: new leader; grey: certified" : "votes; dotted lines: the lead changed; grey: a certified change of preferences", size: 34, labelSize: 20, labelFont: "12px system-ui, sans-serif" },
        { ...axis, scale: "x", side: 0, size: 30, space: 90, grid: { show: false }, values: (_, ticks) => this.moments(ticks) },
        { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => `${Number((100 * tick).toFixed(2))}%`) }],
      series: [{}, ...series], bands,
      hooks: { draw: [(plot) => { this.marks(plot); this.names(plot); }], setCursor: [(plot) => this.values(plot.cursor.idx)] },
    }, data, this.box);
  }

  // The calendar axis: times at which the numbers of votes were reached.
  moments(ticks) {
    const { at, votes } = this.board.history;
    const span = at[at.length - 1] - at[0];
    return ticks.map((tick) => {
      const next = votes.findIndex((count) => count >= tick);
      if (next < 0 || tick < votes[0]) return "";
      const [low, high] = [Math.max(0, next - 1), next];
      const part = votes[high] > votes[low] ? (tick - votes[low]) / (votes[high] - votes[low]) : 0;
      return moment(at[low] + part * (at[high] - at[low]), span);
    });
  }

  margin() { return this.box.clientWidth < 560 ? 76 : 130; }
  height() { return this.box.clientWidth < 560 ? 260 : 340; }

  resize() {
    if (!this.plot || !this.box.clientWidth || this.box.clientWidth === this.plot.width) return;
    this.shape = "";
    this.draw(this.board); // with other margins for the names
  }

  // Marks changes of the leader, and intervals of certified changes.
  marks(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = `${ink("--quiet")}30`;
    for (const change of this.board.certified_changes) {
      const [from, to] = [change.from_vote, change.to_vote].map((vote) => plot.valToPos(vote, "x", true));
      ctx.fillRect(from, bbox.top, Math.max(to - from, devicePixelRatio), bbox.height);
    }
    ctx.strokeStyle = ink("--quiet");
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    const { at, votes } = this.board.history;
    for (const change of this.board.changes) {
      const next = at.findIndex((time) => time >= change.at); // by time: the x axis counts arrived votes, not learned ones
      if (next < 1) continue;
      const part = (change.at - at[next - 1]) / Math.max(1, at[next] - at[next - 1]);
      const x = plot.valToPos(votes[next - 1] + part * (votes[next] - votes[next - 1]), "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  // Draws the names at the ends of the lines, without overlap.
  names(plot) {
    const { ctx, bbox } = plot;
    const line = 15 * devicePixelRatio;
    const ends = this.lines.map(({ name, place }, i) => {
      const values = plot.data[3 * i + 1];
      let last = values.length - 1;
      while (last >= 0 && values[last] === null) last -= 1;
      return last < 0 ? null : { name, place, y: plot.valToPos(values[last], "y", true) };
    }).filter(Boolean).sort((one, other) => one.y - other.y);
    for (let i = 1; i < ends.length; i += 1) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + line);
    const over = ends.length ? ends[ends.length - 1].y - (bbox.top + bbox.height) : 0;
    if (over > 0) {
      ends[ends.length - 1].y -= over;
      for (let i = ends.length - 2; i >= 0; i -= 1) ends[i].y = Math.min(ends[i].y, ends[i + 1].y - line);
    }
    ctx.save();
    ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
    [ctx.textAlign, ctx.textBaseline] = ["left", "middle"];
    const room = (this.margin() - 10) * devicePixelRatio;
    for (const end of ends) {
      ctx.fillStyle = colour(end.place);
      let text = end.name;
      while (text.length > 2 && ctx.measureText(text).width > room) text = cut(text, text.length - 1);
      ctx.fillText(text, bbox.left + bbox.width + 6 * devicePixelRatio, end.y);
    }
    ctx.restore();
  }

  buttons(history, names) {
    const had = document.activeElement?.dataset?.id;
    this.history = history;
    this.legend.replaceChildren(...history.series.map((series) => {
      const on = this.wanted(series.id);
      const button = made("button", "", { type: "button", "aria-pressed": String(on), "data-id": series.id });
      button.append(swatch(placeOf(series.id)), ` ${cut(names.get(series.id) || series.id, 40)} `, made("span", "", { class: "value" }));
      button.addEventListener("click", () => { this.chosen.set(series.id, !on); this.draw(this.board); });
      if (series.id === had) queueMicrotask(() => button.focus());
      return button;
    }));
    this.values(null);
  }

  // Shows the values under the pointer; by default the newest.
  values(place) {
    if (!this.history) return;
    const i = place ?? this.history.votes.length - 1;
    this.history.series.forEach((series, j) => {
      const box = this.legend.children[j]?.querySelector(".value");
      if (box) box.textContent = series.strength[i] == null ? "" : `${share(series.strength[i])} (${interval(series.low[i], series.high[i], share)})`;
    });
    const at = this.history.at?.[i];
    this.says.textContent = place === null || place === undefined ? "" : `After ${short(this.history.votes[i])} votes${at ? `, ${when(at)}` : ""}:`;
  }
}
