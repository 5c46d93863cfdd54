/* The board page: server-sent events update it after each change; polling is the fallback. */
import { Strengths, reigns } from "./board-figures.js";
import { about, evidence, judges, numbers, pairs, ranking, timeline } from "./board-tables.js";
import { TagSection } from "./board-tags.js";
import { since } from "./board-words.js";
import { download, enter } from "./session.js";
import { when } from "./wording.js";

const at = (id) => document.getElementById(id);
const { arena, root } = document.getElementById("board").dataset;
const API = `${root}/v1/arenas/${encodeURIComponent(arena)}`;
const POLL = 5000; // ms
const strengths = new Strengths(at("strengths"), at("strengths-legend"), at("strengths-says"));
// A filtered board has no events: it is asked for every few seconds.
const filter = new URLSearchParams(location.search).get("tag");
const tags = new TagSection(API, filter);
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
  setText("requests", board.says.requests);
  at("requests").hidden = !board.says.requests;
  at("verdict").classList.toggle("sure", board.sure);
  document.title = `${board.says.claim} - ${arena}`;
  evidence(board);
  timeline(board);
  reigns(at("reigns"), board);
  ranking(board);
  if (!board.filter) strengths.draw(board);
  pairs(board);
  judges(board);
  numbers(board);
  about(board);
  tags.update(board);
  for (const part of document.querySelectorAll(".whole")) part.hidden = Boolean(board.filter);
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

// Fetches the board: once at the start, and every few seconds if events are not available.
async function ask() {
  try {
    const answer = await fetch(`${API}/board${filter ? `?${new URLSearchParams({ tag: filter })}` : ""}`, { cache: "no-store" });
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
  if (filter || !("EventSource" in window)) { poll(); return; }
  const events = new EventSource(`${API}/board/events`);
  events.addEventListener("open", () => setText("live", "Live: this page changes by itself."));
  events.addEventListener("board", (event) => { show(JSON.parse(event.data)); setText("live", "Live: this page changes by itself."); });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) poll(); // no reconnection: too many listeners, or a proxy refuses it
    else setText("live", `Connection lost; trying again. What you see is of ${newest ? when(newest.at) : "no time yet"}.`);
  });
}

for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => download(API, arena, button, at("download-says")));
addEventListener("hashchange", () => { if (location.hash.includes("token=")) location.reload(); });
const status = await enter(API, "board");
if ((status === 204 || !refuse(status)) && await ask()) listen();
