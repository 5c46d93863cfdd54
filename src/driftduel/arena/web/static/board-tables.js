/* Tables of a board, built from elements and text nodes, so that a name cannot inject markup. */
import { certifiedChange, change, counts, enough, way } from "./board-words.js";
import { made } from "./elements.js";
import { counted, interval, share, when, whole } from "./wording.js";

const at = (id) => document.getElementById(id);
const show = (id, shown) => { at(id).hidden = !shown; };

// A cell: its text, its sort value, and an optional second line.
export function cell(text, value, small = "") {
  const box = made("td", text, value === undefined ? {} : { "data-value": value ?? "" });
  if (small) box.append(made("small", small));
  return box;
}

export function rowHead(text) { return made("th", text, { scope: "row", class: "words" }); }

function meter(part, label) {
  return made("meter", "", { min: 0, max: 1, value: part, "aria-label": label });
}

export function fill(id, rows) {
  const body = at(id).tBodies[0];
  body.replaceChildren(...rows.map((cells) => { const row = made("tr"); row.append(...cells); return row; }));
  // Restore the sort order that the reader has chosen.
  const heading = at(id).querySelector("th[aria-sort]");
  if (heading) {
    heading.setAttribute("aria-sort", heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
    heading.click();
  }
}

export function evidence(board) {
  const rivals = board.evidence || [];
  show("evidence-part", rivals.length > 0);
  fill("evidence", rivals.map((rival) => {
    const done = enough(rival);
    const part = cell("", way(rival));
    part.append(meter(way(rival), `evidence against ${rival.name}`), ` ${done ? "enough" : `${share(way(rival))} of the way`}`);
    return [rowHead(rival.name), cell(`${whole(rival.wins)} : ${whole(rival.losses)}`, rival.wins - rival.losses), part];
  }));
  at("challenger").textContent = board.says.challenger;
  const bar = at("challenger-bar");
  bar.hidden = !board.challenger;
  bar.value = board.challenger ? board.challenger.share : 0;
}

export function timeline(board) {
  const { length } = board.certified_changes; // the list has the sentences
  at("certified-says").textContent = length ? `${counted(length, "certified change")} of preferences:` : board.says.certified;
  at("changes-says").textContent = board.says.changes;
  // Certified changes of preferences and changes of the leader in one list, newest first.
  const certified = board.certified_changes.map((each) => ({ ...each, certified: true }));
  const all = [...board.changes, ...certified].sort((one, other) => other.seq - one.seq);
  at("changes-list").replaceChildren(...all.map((each) => {
    const row = made("li", "", each.certified ? { class: "certified" } : {});
    row.append(made("strong", when(each.at)), ` ${each.certified ? certifiedChange(each) : change(each)} `);
    if (!each.certified) row.append(made("small", `after ${counted(each.vote, "vote")}`));
    return row;
  }));
}

export function ranking(board) {
  at("ranking-says").textContent = board.says.ranking;
  fill("ranking", board.ranking.map((option) => {
    const name = rowHead(option.name);
    if (!option.present) name.append(made("small", " has left"));
    return [name, cell(whole(option.rank || null), option.rank || null), cell(share(option.strength), option.strength, option.present ? interval(option.low, option.high, share) : ""),
      cell(whole(option.wins), option.wins), cell(whole(option.duels), option.duels)];
  }));
}

// Wins by pair: the share of wins as text, and as a tint.
export function pairs(board) {
  const { ids, wins, ties, skips } = board.pairs;
  const names = new Map(board.ranking.map((option) => [option.id, option.name]));
  const name = (id) => names.get(id) || id;
  at("pairs").caption.textContent = `The last ${counted(board.ranking_votes, "vote")}, as in the ranking; skips since the arena was opened`;
  const head = made("tr");
  head.append(made("th", "wins of … against", { scope: "col" }), ...ids.map((id) => made("th", name(id), { scope: "col" })));
  at("pairs").tHead.replaceChildren(head);
  at("pairs").tBodies[0].replaceChildren(...ids.map((id, i) => {
    const row = made("tr");
    row.append(rowHead(name(id)), ...ids.map((other, j) => {
      if (i === j) return made("td", "", { class: "same" });
      const [won, lost] = [wins[i][j], wins[j][i]];
      const part = won + lost ? won / (won + lost) : null;
      const box = cell(share(part), undefined, won + lost ? `${whole(won)} : ${whole(lost)}` : "");
      const aside = [[ties, "equal"], [skips, "skipped"]].map(([table, word]) => [table?.[i]?.[j], word]).filter(([count]) => count);
      if (aside.length) box.append(made("small", aside.map(([count, word]) => `${whole(count)} ${word}`).join(", ")));
      if (part !== null) {
        const strength = Math.min(1, Math.abs(part - 0.5) * 2);
        box.style.setProperty("--tint", `${Math.round(6 + 44 * strength)}%`);
        box.className = part > 0.5 ? "wins" : part < 0.5 ? "loses" : "";
      }
      return box;
    }));
    return row;
  }));
}

export function judges(board) {
  const found = board.judges || [];
  show("judges-part", found.length > 0);
  const withRange = (value, low, high) => [share(value), value, value === null ? "" : interval(low, high, share)];
  fill("judges", found.map((judge) => [
    rowHead(judge.judge), cell(whole(judge.votes), judge.votes), cell(whole(judge.shared), judge.shared),
    cell(...withRange(judge.agreement, judge.low, judge.high)), cell(share(judge.chance), judge.chance),
    cell(share(judge.consistent), judge.consistent, judge.both_orders ? `of ${counted(judge.both_orders, "duel")}` : ""),
    cell(...withRange(judge.first_share, judge.first_low, judge.first_high)),
  ]));
}

export function numbers(board) {
  at("numbers").replaceChildren(...counts(board).flatMap(([name, value, meaning]) => {
    const cell = made("dd", value);
    cell.append(made("small", meaning ? ` ${meaning}` : ""));
    return [made("dt", name), cell];
  }));
  at("left-says").textContent = board.says.left;
}

export function about(board) {
  const modes = { panel: `panel: people came to compare, and always see ${board.show ? `up to ${board.show}` : "two"} different options`, serve: "serve: traffic; at times one option is shown without a question" };
  const rows = [[board.show ? "Chooses the options" : "Chooses the pairs", board.policy], ["Mode", modes[board.mode] || board.mode], ["Seed", String(board.seed)], ["Records in the log", whole(board.seq)], ["Last record", when(board.at)]];
  at("about").replaceChildren(...rows.flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
  at("guarantee").textContent = board.guarantee || "";
  at("warnings").replaceChildren(...(board.warnings || []).map((warning) => made("p", warning)));
  show("warnings", (board.warnings || []).length > 0);
  show("closed", Boolean(board.closed));
}
