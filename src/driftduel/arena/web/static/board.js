/* The board page: server-sent events update it after each change; polling is the fallback. */
import { Strengths, reigns } from "./board-figures.js";
import { about, evidence, numbers, pairs, ranking, timeline } from "./board-tables.js";
import { since } from "./board-words.js";
import { when } from "./wording.js";

const at = (id) => document.getElementById(id);
const { arena, root } = document.getElementById("board").dataset;
const API = `${root}/v1/arenas/${encodeURIComponent(arena)}`;
const POLL = 5000; // ms
const strengths = new Strengths(at("strengths"), at("strengths-legend"), at("strengths-says"));
let newest = null;

function setText(id, text) { if (at(id).textContent !== text) at(id).textContent = text; }

function show(board) {
  if (newest && board.seq < newest.seq) return;
  newest = board;
  setText("claim", board.says.claim);
  setText("since", since(board));
  setText("doubt", board.says.doubt);
  setText("waiting", board.says.waiting);
  at("waiting").hidden = !board.says.waiting;
  at("verdict").classList.toggle("sure", board.sure);
  document.title = `${board.says.claim} - ${arena}`;
  evidence(board);
  timeline(board);
  reigns(at("reigns"), board);
  ranking(board);
  strengths.draw(board);
  pairs(board);
  numbers(board);
  about(board);
  at("board").hidden = false;
  at("trouble").hidden = true;
}

function refuse(status) {
  const message = status === 401 || status === 403 ? "This link does not let you see the board. Please ask for a new link."
    : status === 404 ? "There is no arena of this name here." : "The board cannot be read just now. This page keeps trying.";
  at("trouble").hidden = false;
  setText("trouble", message);
  setText("live", "");
  return status === 401 || status === 403 || status === 404;
}

// Exchanges the token of a link for a cookie. It is in the fragment, which no proxy sees or logs.
async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return true;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    const headers = { Authorization: `Bearer ${token}`, "X-Driftduel": "1" };
    const answer = await fetch(`${API}/session?page=board`, { method: "POST", headers, cache: "no-store" });
    return answer.ok || !refuse(answer.status);
  } catch {
    return !refuse(0);
  }
}

// Fetches the board: once at the start, and every few seconds if events are not available.
async function ask() {
  try {
    const answer = await fetch(`${API}/board`, { cache: "no-store" });
    if (!answer.ok) return !refuse(answer.status);
    show(await answer.json());
  } catch {
    if (!newest) refuse(0);
  }
  return true;
}

async function poll() {
  if (!(await ask())) return;
  if (newest) setText("live", `Asked every ${POLL / 1000} s; last at ${when(Date.now())}.`);
  setTimeout(poll, POLL);
}

function listen() {
  if (!("EventSource" in window)) { poll(); return; }
  const events = new EventSource(`${API}/board/events`);
  events.addEventListener("open", () => setText("live", "Live: this page changes by itself."));
  events.addEventListener("board", (event) => { show(JSON.parse(event.data)); setText("live", "Live: this page changes by itself."); });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) poll(); // no reconnection: too many listeners, or a proxy refuses it
    else setText("live", `Connection lost; trying again. What you see is of ${newest ? when(newest.at) : "no time yet"}.`);
  });
}

// A link cannot set the header Accept, so the log is fetched and saved as a file.
async function download(button) {
  const kinds = { csv: "text/csv", ndjson: "application/x-ndjson" };
  const kind = button.dataset.kind;
  button.disabled = true;
  try {
    const answer = await fetch(`${API}/log`, { headers: { Accept: kinds[kind] } });
    if (!answer.ok) throw new Error(String(answer.status));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `${arena}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    setText("download-says", "");
  } catch {
    setText("download-says", "The log could not be fetched; try again in a moment.");
  }
  button.disabled = false;
}

for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => download(button));
addEventListener("hashchange", () => { if (location.hash.includes("token=")) location.reload(); });
if (await enter() && await ask()) listen();
