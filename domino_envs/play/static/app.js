// The page of `domino-envs play`. It knows no game: the server draws the table, marks the tiles that can be taken up
// (class "source") and the places where they can go (class "target"), and says whose turn it is. The page holds the
// game, a sealed document, and sends it with every request; the server keeps nothing.
"use strict";

const element = id => document.getElementById(id);
const board = element("board");
const narrow = matchMedia("(max-width: 699px)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const hasty = matchMedia("(prefers-reduced-motion: reduce)");
const PAUSE = 350; // ms before the opponent moves, so that one sees one's own move
const KEY = "domino_envs.game";

let setup = null; // games, opponents, defaults
let view = null; // what the server said last
let selected = null; // key of the tile taken up
let turn = 0; // which way it lies
let game = 0; // grows with each change by the person, so that late answers are dropped
let busy = false;
let clockStart = 0;
let flagged = false;
let settings = null; // of the running game, to deal it again

class Refused extends Error {}

async function call(name, data) {
  const body = { ...data, theme: dark.matches ? "dark" : "light", layout: narrow.matches ? "tall" : "wide" };
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The server does not answer. Your game is kept in this page.");
  }
  const found = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (!answer.ok) throw new Refused(found.error);
  return found;
}

// Ask for something and show the answer; true if that worked. A newer request of the person's overtakes this one.
async function ask(name, data = {}) {
  const mine = ++game;
  busy = true;
  board.classList.add("busy");
  const slow = setTimeout(() => (element("status").textContent = "Working. The first time this takes longer."), 1500);
  try {
    const found = await call(name, data);
    if (mine !== game) return false;
    busy = false;
    show(found);
    return true;
  } catch (error) {
    if (mine !== game) return false;
    busy = false;
    complain(error);
    return false;
  } finally {
    clearTimeout(slow);
    if (mine === game) board.classList.remove("busy");
  }
}

function complain(error) {
  element("problem").textContent = error.message;
  element("problem").hidden = false;
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => (element("problem").hidden = true), 6000);
  if (!(error instanceof Refused) && view) {
    element("status").textContent = error.message;
    showButtons([["Try again", () => ask("view", { document: view.document }), true]]);
  }
}

// Showing

function show(next) {
  view = next;
  selected = null;
  flagged = false;
  clockStart = performance.now();
  element("problem").hidden = true;
  board.innerHTML = view.svg;
  board.classList.toggle("yours", view.turn === "you" && view.moves.length > 0);
  element("heading").textContent = view.heading;
  document.title = `${view.title} · Domino`;
  remember();
  const past = view.number < view.history.length;
  element("status").textContent = past ? `After move ${view.number} of ${view.history.length}.` : view.status;
  element("undo").disabled = !view.can_undo || past;
  element("hint").disabled = view.turn !== "you" || past;
  element("save").disabled = false;
  showHistory();
  showHint();
  showTurns();
  showActions(past);
  tick();
  if (!past && view.turn === "opponent") {
    const mine = game;
    setTimeout(() => mine === game && ask("reply", { document: view.document }), hasty.matches ? 0 : PAUSE);
  }
}

function showActions(past) {
  const buttons = [];
  if (past) {
    buttons.push(["Back to the game", () => ask("view", { document: view.document }), true]);
  } else if (view.turn === "wait") {
    buttons.push([view.start, () => ask("start", { document: view.document }), true]);
  } else if (view.turn === "over") {
    if (settings) buttons.push(["Play again", () => deal(settings), true]);
    buttons.push(["New game", openSetup, !settings]);
  } else if (view.turn === "you") {
    for (const move of view.moves) {
      if (move.label) buttons.push([move.label, () => play(move.action), view.moves.length === 1]);
    }
  }
  showButtons(buttons);
}

function showButtons(buttons) {
  element("actions").replaceChildren(
    ...buttons.map(([label, action, main]) => {
      const button = document.createElement("button");
      button.textContent = label;
      button.className = main ? "main" : "";
      button.onclick = action;
      return button;
    }),
  );
}

function showHistory() {
  const rows = [];
  let deal = 0;
  view.history.forEach((entry, i) => {
    if (entry.deal !== deal && view.history.at(-1).deal > 1) {
      const row = document.createElement("li");
      row.className = "deal";
      row.textContent = `${view.deal_word} ${entry.deal}`;
      rows.push(row);
    }
    deal = entry.deal;
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.className = entry.by;
    for (const [name, text] of [["number", i + 1], ["move", entry.move]]) {
      const part = document.createElement("span");
      part.className = name;
      part.textContent = text;
      button.append(part);
    }
    button.setAttribute("aria-label", `move ${i + 1}, ${entry.by === "you" ? "you" : view.opponent}: ${entry.move}`);
    if (i + 1 === view.number) button.setAttribute("aria-current", "true");
    button.onclick = () => ask("view", i + 1 === view.history.length
      ? { document: view.document } : { document: view.document, at: i + 1 });
    row.append(button);
    rows.push(row);
  });
  const list = element("history");
  list.replaceChildren(...rows);
  const current = list.querySelector("[aria-current]");
  if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
}

function showHint() {
  element("hints").hidden = !view.hint;
  if (!view.hint) return;
  element("hint-source").textContent = view.hint.source;
  element("hint-values").replaceChildren(
    ...view.hint.values.slice(0, 8).map(entry => {
      const row = document.createElement("tr");
      row.className = entry.action === view.hint.best ? "best" : "";
      for (const text of [entry.move, entry.value]) row.insertCell().textContent = text;
      return row;
    }),
  );
}

// Taking up and laying

const targetsOf = key => [...board.querySelectorAll(".target")].filter(target => target.dataset.source === key);
const turnsOf = key => [...new Set(targetsOf(key).map(target => target.dataset.turn))].filter(Boolean).map(Number).sort();

function select(key) {
  selected = key;
  const turns = key ? turnsOf(key) : [];
  if (turns.length && !turns.includes(turn)) turn = turns[0];
  board.querySelectorAll(".source").forEach(source => {
    const chosen = source.dataset.source === key;
    source.classList.toggle("selected", chosen);
    source.setAttribute("aria-pressed", chosen);
  });
  board.querySelectorAll(".target").forEach(target => {
    const fits = target.dataset.turn === undefined || Number(target.dataset.turn) === turn;
    const lit = target.dataset.source === key && fits;
    target.classList.toggle("lit", lit);
    target.setAttribute("tabindex", lit ? 0 : -1);
  });
  showTurns();
}

function showTurns() {
  const box = element("turns");
  const turns = selected ? turnsOf(selected) : [];
  box.hidden = turns.length < 2;
  if (box.hidden) return box.replaceChildren();
  const source = board.querySelector(`.source[data-source="${selected}"]`);
  const [low, high] = source.getAttribute("aria-label").match(/\d/g);
  const faces = [`${low}|${high}`, `${low}\n${high}`, `${high}|${low}`, `${high}\n${low}`];
  box.replaceChildren(
    ...turns.map(number => {
      const button = document.createElement("button");
      button.textContent = faces[number];
      button.setAttribute("aria-label", `${high} ${["right of", "below", "left of", "above"][number]} ${low}`);
      button.setAttribute("aria-pressed", number === turn);
      button.onclick = () => { turn = number; select(selected); };
      return button;
    }),
  );
}

function rotate() {
  const turns = selected ? turnsOf(selected) : [];
  if (turns.length < 2) return false;
  turn = turns[(turns.indexOf(turn) + 1) % turns.length];
  select(selected);
  return true;
}

function play(action) {
  if (busy) return;
  ask("move", { document: view.document, action });
}

function press(part, byKey) {
  if (busy || view?.turn !== "you") return;
  const target = part.closest(".target.lit");
  if (target) return play(Number(target.dataset.action));
  const source = part.closest(".source");
  if (!source) return select(null);
  if (source.dataset.source === selected) {
    if (!rotate() && !byKey) select(null);
  } else {
    select(source.dataset.source);
  }
  if (byKey) board.querySelector(".target.lit")?.focus();
}

board.addEventListener("click", event => press(event.target, false));

// Keys

const center = part => {
  const box = part.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
};

// The nearest of the same kind in a direction.
function neighbour(part, dx, dy) {
  const kind = part.classList.contains("target") ? ".target.lit" : ".source";
  const [x, y] = center(part);
  let best = null;
  let least = Infinity;
  for (const other of board.querySelectorAll(kind)) {
    const [otherX, otherY] = center(other);
    const along = (otherX - x) * dx + (otherY - y) * dy;
    const across = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
    if (other !== part && along > 1 && along + 3 * across < least) {
      best = other;
      least = along + 3 * across;
    }
  }
  return best;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select")) return;
  const part = event.target.closest(".source, .target");
  if (event.key in ARROWS) {
    const start = part || board.querySelector(selected ? ".target.lit" : ".source");
    const next = part ? neighbour(part, ...ARROWS[event.key]) : start;
    if (next) { event.preventDefault(); next.focus(); }
  } else if (part && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    press(part, true);
  } else if (event.key === "Escape" && selected) {
    const source = board.querySelector(".source.selected");
    select(null);
    source?.focus();
  } else if (event.key === "r" || event.key === "R") {
    const at = [...board.querySelectorAll(".target.lit")].indexOf(part);
    if (rotate() && at >= 0) board.querySelector(".target.lit")?.focus();
  } else if (event.key === "u" || event.key === "U") element("undo").click();
  else if (event.key === "h" || event.key === "H") element("hint").click();
  else if (event.key === "n" || event.key === "N") { event.preventDefault(); openSetup(); }
  else if (event.key === "?") element("help").click();
});

// The clock

function tick() {
  const clock = view?.clock;
  element("clock").hidden = !clock;
  if (!clock) return;
  const gone = (performance.now() - clockStart) / 1000;
  for (const who of ["you", "opponent"]) {
    const running = clock.running === who && view.number === view.history.length;
    const left = Math.max(0, clock[who] - (clock.running === who ? gone : 0));
    const box = element(`clock-${who}`);
    box.classList.toggle("running", running);
    box.classList.toggle("short", left < 10);
    const whole = Math.floor(left);
    const seconds = left < 10 ? left.toFixed(1).padStart(4, "0") : String(whole % 60).padStart(2, "0");
    box.querySelector("time").textContent = `${Math.floor(whole / 60)}:${seconds}`;
    if (who === "you" && clock.running === "you" && left <= 0 && !flagged && !busy) {
      flagged = true;
      ask("flag", { document: view.document });
    }
  }
  element("clock-opponent").querySelector(".who").textContent = view.opponent;
}
setInterval(tick, 100);

// New games, records

function remember() {
  for (const storage of ["sessionStorage", "localStorage"]) {
    try { window[storage].setItem(KEY, view.document); } catch { /* full or forbidden: the page itself still has it */ }
  }
}

function remembered(storage) {
  try { return window[storage].getItem(KEY); } catch { return null; }
}

function fill(list, values, chosen, labels = {}) {
  list.replaceChildren(...values.map(value => new Option(labels[value] ?? value, value)));
  if (values.includes(chosen)) list.value = chosen;
}

const EPISODES = { match: "whole match", set: "a set (two games)", deal: "one deal" };

function fillGame() {
  const chosen = setup.games.find(entry => entry.name === element("game").value);
  fill(element("opponent"), chosen.opponents, element("opponent").value || setup.defaults.opponent || "greedy");
  fill(element("episode"), chosen.episodes, element("episode").value || setup.defaults.episode, EPISODES);
  const sizes = chosen.parameters.hand_size ?? [];
  element("hand-label").hidden = !sizes.length;
  fill(element("hand"), sizes.map(String), String(chosen.defaults.hand_size ?? ""));
}

function openSetup() {
  element("setup-problem").hidden = true;
  element("continue").hidden = view !== null || !remembered("localStorage");
  element("cancel").hidden = view === null;
  if (!element("setup").open) element("setup").showModal();
}

function chosenSettings() {
  const wanted = {};
  for (const id of ["game", "opponent", "episode", "seat", "opener"]) wanted[id] = element(id).value;
  if (!element("hand-label").hidden) wanted.parameters = { hand_size: Number(element("hand").value) };
  const clock = element("clock-setting").value.trim();
  if (clock) wanted.clock = clock;
  return wanted;
}

async function deal(wanted) {
  if (!(await ask("new", wanted))) return false;
  settings = wanted;
  return true;
}

element("setup").addEventListener("submit", async event => {
  event.preventDefault();
  if (await deal(chosenSettings())) return element("setup").close();
  element("setup-problem").textContent = element("problem").textContent;
  element("setup-problem").hidden = false;
});
element("cancel").onclick = () => element("setup").close();
element("continue").onclick = async () => {
  if (await ask("view", { document: remembered("localStorage") })) element("setup").close();
};
element("game").onchange = fillGame;
element("new").onclick = openSetup;
element("undo").onclick = () => view?.can_undo && ask("undo", { document: view.document });
element("hint").onclick = () => view?.turn === "you" && !busy && ask("hint", { document: view.document });
element("help").onclick = () => {
  const rules = setup.games.find(entry => entry.name === (view?.game ?? element("game").value))?.rules ?? [];
  element("rules").replaceChildren(...rules.map(text => Object.assign(document.createElement("li"), { textContent: text })));
  element("about").showModal();
};
element("save").onclick = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([view.document], { type: "application/json" }));
  link.download = `${view.game}-${view.history.length}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
element("load").onclick = () => element("file").click();
element("file").onchange = async event => {
  const file = event.target.files[0];
  event.target.value = "";
  if (file && (await ask("load", { document: await file.text() })) && element("setup").open) element("setup").close();
};

const redraw = () => view && !busy && view.turn !== "opponent" && ask("view", { document: view.document });
narrow.addEventListener("change", redraw);
dark.addEventListener("change", redraw);

async function begin() {
  setup = await (await fetch("api/setup")).json();
  fill(element("game"), setup.games.map(entry => entry.name), setup.defaults.game,
    Object.fromEntries(setup.games.map(entry => [entry.name, entry.title])));
  fillGame();
  element("seat").value = setup.defaults.seat ?? "random";
  element("clock-setting").value = setup.defaults.clock ?? "";
  const kept = remembered("sessionStorage");
  if (kept && (await ask("view", { document: kept }))) return;
  if (!setup.defaults.game || !(await deal(chosenSettings()))) openSetup();
}
begin().catch(() => complain(new Error("The server does not answer.")));
