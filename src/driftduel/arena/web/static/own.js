/* The owner's page: options, items, links, the settings of the vote page, waiting votes, the end. */
import { made } from "./elements.js";
import { download, enter } from "./session.js";
import { counted, whole } from "./wording.js";

const at = (id) => document.getElementById(id);
const { arena, root } = document.getElementById("own").dataset;
const API = `${root}/v1/arenas/${encodeURIComponent(arena)}`;
const PAGE = 50; // items in one request
const BATCH = 500, BATCH_CHARACTERS = 3_000_000; // the limits of the server are above both
const POLL = 5000; // ms
const short = (text, most = 90) => (text.length > most ? `${text.slice(0, most)} …` : text);

class Refusal extends Error {}

async function call(method, path, body, more = {}) {
  let answer;
  try {
    const json = body === undefined || body instanceof Blob ? {} : { "Content-Type": "application/json" };
    answer = await fetch(API + path, {
      method,
      headers: { "X-Driftduel": "1", ...json, ...more },
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
      cache: "no-store",
    });
  } catch { throw new Refusal("The server cannot be reached; try again in a moment."); }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const problem = await answer.json().catch(() => ({}));
  const refusal = new Refusal(answer.status === 401 || answer.status === 403 ? "This link does not let you manage the arena. Open the page with an owner's token."
    : problem.detail || problem.title || `The server answered with an error (${answer.status}).`);
  refusal.status = answer.status;
  throw refusal;
}

function says(id, text, wrong = false) {
  at(id).textContent = text;
  at(id).classList.toggle("wrong", wrong);
}

// Runs an action of a part of the page; reports its result or its refusal there.
async function run(id, action) {
  says(id, "…");
  try { says(id, (await action()) || ""); } catch (trouble) {
    if (!(trouble instanceof Refusal)) throw trouble;
    says(id, trouble.message, true);
  }
}

function rows(id, lines) { at(id).tBodies[0].replaceChildren(...lines); }

function row(head, cells, gone = false) {
  const line = made("tr", "", gone ? { class: "away" } : {});
  line.append(made("th", head, { scope: "row", class: "words" }), ...cells);
  return line;
}

function act(text, name, action, kind = "") {
  const button = made("button", text, { type: "button", "aria-label": `${text}: ${name}`, ...(kind ? { class: kind } : {}) });
  button.addEventListener("click", action);
  return button;
}

function acts(...buttons) {
  const cell = made("td", "", { class: "acts" });
  cell.append(...buttons);
  return cell;
}

function confirmed(question, button) {
  at("sure-question").textContent = question;
  at("sure-yes").textContent = button;
  at("sure").returnValue = "";
  at("sure").showModal();
  return new Promise((done) => { at("sure").addEventListener("close", () => done(at("sure").returnValue === "yes"), { once: true }); });
}

// -- state
async function showState() {
  const board = await call("GET", "/board");
  at("closed").hidden = !board.closed;
  at("close").hidden = board.closed;
  const lines = [
    ["votes", counted(board.votes, "vote")],
    ["waiting", `${counted(board.waiting, "vote")}${board.held ? `, ${whole(board.held)} of them for ${counted(board.held_by, "open duel")}` : ""}`],
    ["open duels", whole(board.open)],
    ...(board.items ? [["items", `${counted(board.items.count, "item")}; each shown ${whole(board.items.fewest)} to ${whole(board.items.most)} times`]] : []),
    ["the board", board.says.claim],
  ];
  at("state").replaceChildren(...lines.flatMap(([term, text]) => [made("dt", term), made("dd", text)]));
  return board;
}

// -- options
async function showOptions() {
  const { options } = await call("GET", "/options");
  rows("options", options.map((option) => row(option.name, [
    made("td", option.kind, { class: "text" }), made("td", option.content === option.name ? "" : short(option.content), { class: "text" }),
    made("td", option.present ? "shown" : "retired", { class: "text" }),
    acts(
      act("Preview", option.name, () => preview(option.name, null, { [option.name]: option })),
      act(option.present ? "Retire" : "Readmit", option.name, () => run("options-says", async () => {
        await call("PATCH", `/options/${encodeURIComponent(option.id)}`, { present: !option.present });
        await showOptions();
        return `“${option.name}” is ${option.present ? "retired" : "shown again"}.`;
      })),
    ),
  ], !option.present)));
}

// -- items
let after = 0;

async function showItems(more = false) {
  if (!more) { after = 0; at("items").tBodies[0].replaceChildren(); }
  const page = await call("GET", `/items?after=${after}&limit=${PAGE}`);
  at("no-items").hidden = at("items").tBodies[0].rows.length + page.items.length > 0;
  at("items").tBodies[0].append(...page.items.map(itemRow));
  at("more").hidden = page.next === null;
  after = page.next ?? after;
}

const tagText = (tags) => Object.entries(tags || {}).map(([key, value]) => `${key}: ${[value].flat().join(", ")}`).join("; ");

function itemRow(item) {
  const line = row(item.id, [
    made("td", short(item.prompt?.content || ""), { class: "text" }),
    made("td", whole(Object.keys(item.answers).length)), made("td", tagText(item.tags), { class: "text" }),
    made("td", whole(item.shown)), made("td", item.present ? "shown" : "retired", { class: "text" }),
    acts(
      act("Preview", item.id, () => preview(item.id, item.prompt, item.answers)),
      act(item.present ? "Retire" : "Readmit", item.id, () => run("items-says", async () => {
        const now = await call("PATCH", `/items/${encodeURIComponent(item.id)}`, { present: !item.present });
        const fresh = itemRow(now);
        line.replaceWith(fresh);
        fresh.querySelector("button:last-of-type").focus();
        return `“${item.id}” is ${now.present ? "shown again" : "retired"}.`;
      })),
    ),
  ], !item.present);
  return line;
}

// Parses JSON lines; a fault names its line.
function parsed(text) {
  const lines = text.split("\n").map((line, place) => [line.trim(), place + 1]).filter(([line]) => line);
  if (!lines.length) throw new Refusal("There are no items: choose a file or paste JSON lines.");
  return lines.map(([line, number]) => {
    try { return [JSON.parse(line), line.length]; } catch { throw new Refusal(`Line ${number} is not JSON; write one object per line.`); }
  });
}

async function addItems() {
  const [file] = at("items-file").files;
  const found = parsed(file ? await file.text() : at("items-text").value);
  const totals = { added: 0, replaced: 0, extended: 0, unchanged: 0 };
  let sent = 0;
  while (sent < found.length) {
    const batch = [];
    for (let size = 0; sent + batch.length < found.length && batch.length < BATCH; size += found[sent + batch.length - 1][1]) {
      if (batch.length && size + found[sent + batch.length][1] > BATCH_CHARACTERS) break;
      batch.push(found[sent + batch.length][0]);
    }
    let answer;
    try { answer = await call("POST", "/items", { items: batch, replace: at("items-replace").checked }); } catch (trouble) {
      if (trouble instanceof Refusal && sent) trouble.message = `${sent} items were saved, then: ${trouble.message}`;
      throw trouble;
    }
    for (const key of Object.keys(totals)) totals[key] += answer[key] || 0;
    sent += batch.length;
    says("items-says", `${sent} of ${found.length} …`);
  }
  at("items-form").reset();
  await Promise.all([showItems(), showOptions()]);
  return `${Object.entries(totals).filter(([, count]) => count).map(([key, count]) => `${count} ${key}`).join(", ")}.`;
}

// -- preview: the element of the vote page displays two answers of an item
function preview(name, prompt, answers) {
  const names = Object.keys(answers);
  const element = at("preview-duel");
  const shown = (select) => answers[select.value];
  const draw = () => {
    const [left, right] = [shown(at("preview-left")), shown(at("preview-right"))];
    const pair = names.length > 1 ? { left, right } : { alone: left };
    element.show({ ...pair, ...(prompt ? { prompt } : {}) });
  };
  at("preview-name").textContent = `Preview: ${name}`;
  for (const [place, id] of ["preview-left", "preview-right"].entries()) {
    at(id).replaceChildren(...names.map((each) => made("option", each, { value: each })));
    at(id).value = names[Math.min(place, names.length - 1)];
    at(id).onchange = draw;
  }
  at("preview-choice").hidden = names.length < 2;
  at("preview").showModal();
  draw();
}

// -- links and tokens
async function showTokens() {
  const { tokens } = await call("GET", "/tokens");
  const what = { vote: "vote", read: "see the board", own: "everything" };
  rows("tokens", tokens.map((token) => row(`${token.prefix}…`, [
    made("td", what[token.scope] || token.scope, { class: "text" }), made("td", token.label, { class: "text" }),
    acts(act("Revoke", token.label || token.prefix, async () => {
      if (!(await confirmed(`Links with the token ${token.prefix}… will stop working. The votes stay.`, "Revoke the token"))) return;
      run("tokens-says", async () => {
        await call("DELETE", `/tokens/${encodeURIComponent(token.prefix)}`);
        await showTokens();
        return "The token is revoked.";
      });
    }, "danger")),
  ])));
}

async function makeLink() {
  const scope = at("link-scope").value;
  const { token } = await call("POST", "/tokens", { scope, label: at("link-label").value });
  const page = { vote: "vote", read: "board", own: "own" }[scope];
  at("link-address").value = `${location.origin}${root}/${page}/${encodeURIComponent(arena)}#token=${token}`;
  at("link").hidden = false;
  at("link-address").focus();
  at("link-address").select();
  await showTokens();
  return "The link is below. It is shown only once.";
}

// -- the settings of the vote page
const PICKS = ["left", "right", "tie", "both-bad", "skip"];

function showSettings(settings) {
  for (const key of ["title", "question", "instructions", "language"]) at(`page-${key}`).value = settings[key];
  for (const key of ["reveal", "reasons"]) at(`page-${key}`).checked = settings[key];
  for (const pick of PICKS.slice(2)) at(`page-${pick}`).checked = settings.buttons.includes(pick);
  at("page-words").value = Object.entries(settings.words || {}).map(([key, text]) => `${key} = ${text}`).join("\n");
}

function ownWords() {
  const lines = at("page-words").value.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const [key, ...text] = line.split("=");
    if (!text.length) throw new Refusal(`“${short(line, 40)}” has no “=”; write one word per line: undo = Take back`);
    return [key.trim(), text.join("=").trim()];
  }));
}

async function saveSettings() {
  const settings = { words: ownWords() };
  for (const key of ["title", "question", "instructions", "language"]) settings[key] = at(`page-${key}`).value;
  for (const key of ["reveal", "reasons"]) settings[key] = at(`page-${key}`).checked;
  settings.buttons = PICKS.filter((pick, place) => place < 2 || at(`page-${pick}`).checked);
  showSettings(await call("PATCH", "/page", settings));
  return "Saved. Open vote pages show it after they are loaded again.";
}

// -- files
async function upload() {
  const [file] = at("file").files;
  if (!file) throw new Refusal("Choose an image or a sound first.");
  const { file: name } = await call("POST", "/files", file, { "Content-Type": file.type });
  at("file-name").value = name;
  at("file-made").hidden = false;
  at("file-name").focus();
  at("file-name").select();
  return `Stored. Refer to it as ${name}.`;
}

function onSubmit(id, part, action) {
  at(id).addEventListener("submit", (event) => { event.preventDefault(); run(part, action); });
}

async function copy(id, part) {
  at(id).select();
  try { await navigator.clipboard.writeText(at(id).value); says(part, "Copied."); } catch { says(part, "Select the text and copy it."); }
}

onSubmit("option-form", "options-says", async () => {
  const name = at("option-name").value;
  await call("POST", "/options", { name, kind: at("option-kind").value, content: at("option-content").value });
  at("option-form").reset();
  await showOptions();
  return `“${name}” takes part.`;
});
onSubmit("items-form", "items-says", addItems);
onSubmit("link-form", "tokens-says", makeLink);
onSubmit("page-form", "page-says", saveSettings);
onSubmit("file-form", "file-says", upload);
at("more").addEventListener("click", () => run("items-says", () => showItems(true)));
at("link-copy").addEventListener("click", () => copy("link-address", "tokens-says"));
at("file-copy").addEventListener("click", () => copy("file-name", "file-says"));
at("close").addEventListener("click", async () => {
  if (!(await confirmed("Nobody can vote after this, and it cannot be undone. Board and log stay readable.", "Close the arena"))) return;
  run("close-says", async () => { await call("POST", "/close", {}); await showState(); return "The arena is closed."; });
});
for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => download(API, arena, button, at("download-says")));
for (const button of document.querySelectorAll("dialog [data-answer]")) button.addEventListener("click", () => button.closest("dialog").close(button.dataset.answer));
addEventListener("hashchange", () => { if (location.hash.includes("token=")) location.reload(); });

async function watch() {
  if (!document.hidden) await showState().catch(() => {}); // the next attempt reports trouble
  setTimeout(watch, POLL);
}

async function begin() {
  const status = await enter(API, "own");
  if (status === 401 || status === 403) throw new Refusal("This link does not let you manage the arena. Open the page with an owner's token.");
  const [board] = await Promise.all([showState(), showOptions(), showTokens(), call("GET", "/page").then(showSettings)]);
  at("items-part").hidden = !board.items; // null for an arena without items
  if (board.items) await showItems();
  at("own").hidden = false;
  at("loading").hidden = true;
  setTimeout(watch, POLL);
}

begin().catch((trouble) => {
  at("loading").hidden = true;
  at("trouble").hidden = false;
  at("trouble").textContent = trouble instanceof Refusal ? trouble.message : `The page failed: ${trouble.message}`;
});
