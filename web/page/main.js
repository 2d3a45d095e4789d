// The page: the settings, the steps of a run, and the panes that show it.

import { drawMemory } from "./drawing.js";
import { load } from "./engine.js";
import { GamePane } from "./game_pane.js";
import { Player } from "./player.js";
import { Recording } from "./recording.js";
import { BATCHES, CAPACITIES, hashOf, settingOf, usualBatch } from "./setting.js";
import { drawAsked, drawSeen } from "./strips.js";
import { asPicture, onCanvas } from "./surface.js";
import { describe, describeAnswer, describeCell, describeMaps, describeTrusted, operationOf } from "./words.js";
import { workloads } from "./workloads.js";

const element = (id) => document.getElementById(id);
/** Steps a second, by the position of the slider. */
const SPEEDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024];
/** The watcher against which a scheme is secure. */
const AGAINST = {
  full: "It is secure against a watcher of every read and write.",
  snapshot: "It is secure against a watcher of changes, who sees no reads.",
  unopposed: "A watcher of reads and writes learns too much.",
};
/** Above this speed a screen reader does not read the steps. */
const SPOKEN = 2;

let engine;
let schemes;
let view;
let run;
let recording = null;
let state;
let cells = [];
let game;
let playing = null;
/** The address that the browser gets when the running script ends. */
let address = null;

function complain(error) {
  element("problem").textContent = error.message;
  element("problem").hidden = false;
}

/** Calls a function and shows its error. */
function attempt(work) {
  try {
    element("problem").hidden = true;
    work();
  } catch (error) {
    pause();
    complain(error);
  }
}

/** Starts a run with the chosen settings. */
function begin() {
  pause();
  run?.end();
  const { scheme, capacity, seed, workload, batch, lazy } = view;
  const entry = schemes.find(({ name }) => name === scheme);
  if (!entry.recursive) view.map = "trusted";
  run = new Player(engine, { scheme, capacity, seed, workload, batch, lazy, map: view.map, stash: entry.stash });
  const { about, source, adversary } = entry;
  element("about").textContent = `${about} (${source}.) ${AGAINST[adversary]} ${describeMaps(run.maps)}`.trim();
  element("map").value = view.map;
  element("map").disabled = !entry.recursive;
  const isMany = batch > 1;
  // A trace may have been shown before.
  element("scheme").value = scheme;
  element("batch").value = String(batch);
  element("batch-label").textContent = scheme === "parallel" ? "Processors" : "At a time";
  element("hand-block-label").textContent = isMany ? "Blocks" : "Block";
  element("copies").textContent = isMany ? copiesInWords(workloads[workload], batch) : "";
  lines("program", workloads[workload].lines);
  lines("code", run.code);
  show();
}

function copiesInWords({ least, shares }, batch) {
  if (shares === "block") return `${batch} copies of the program ask for the same block.`;
  return `${batch} copies of the program, or as many as fit, ${least ? "each over its own blocks" : "over the same blocks"}.`;
}

/** Shows a recorded trace instead of a run. */
async function record(file) {
  const text = await file.text();
  attempt(() => {
    recording = new Recording(text, file.name);
    element("recorded")?.remove();
    element("scheme").append(Object.assign(new Option(`Trace ${file.name}`, "recorded"), { id: "recorded" }));
    element("scheme").value = "recorded";
    showRecording();
  });
}

function showRecording() {
  pause();
  run.end();
  run = recording;
  element("about").textContent =
    `A recorded trace: ${run.name}. It contains what the provider saw, and nothing that only the owner knows.`;
  show();
}

function lines(id, texts) {
  // Moves the comments of the source, far to the right, next to the code.
  const near = (text) => text.replaceAll(/([^\d\s]) {6,}/g, "$1    ");
  const line = (text) => Object.assign(document.createElement("li"), { textContent: near(text) });
  element(id).replaceChildren(...texts.map(line));
}

/** Draws the current state. */
function show() {
  const isRecorded = run instanceof Recording;
  if (isRecorded) view.side = "provider";
  state = view.side === "owner" ? run.state() : null;
  cells = drawMemory(onCanvas(element("memory")), run, state, view);
  if (!isRecorded) drawAsked(element("asked"), run, view.capacity);
  drawSeen(element("seen"), run);
  const knows = view.side === "owner";
  for (const id of ["asked-pane", "program-pane", "hand-pane"]) element(id).hidden = !knows;
  element("code-pane").hidden = isRecorded;
  const accesses = knows && run.at > 0 ? (run.round?.accesses ?? []) : [];
  mark("program", accesses.flatMap((access) => (access?.line === undefined ? [] : [access.line])));
  mark("code", run.lastStep.lines);
  element("note").textContent = accesses.length > 1 ? notesOf(accesses) : (accesses[0]?.note ?? "");
  if (!playing || SPEEDS[element("speed").value] <= SPOKEN) element("said").textContent = describe(run, view.side);
  element("answer").textContent = knows && run.answered ? describeAnswer(run.answered) : "";
  element("operation").textContent = operationOf(run);
  element("trusted").textContent = state ? describeTrusted(state) : "";
  element("at").textContent = run.finished ? `step ${run.at}, the end` : `step ${run.at}`;
  element("back").disabled = run.at === 0;
  element("owner").disabled = isRecorded;
  if (run.wrong) complain(new Error(`${describeAnswer([run.wrong])} Another number was written before: this is a bug.`));
  press("owner", knows);
  press("provider", !knows);
  view.step = run.at;
  if (!playing && !isRecorded) tell(hashOf(view));
}

/** Gives the browser the address, once per script: that takes as long as a step. */
function tell(hash) {
  if (address === null) {
    queueMicrotask(() => {
      if (address !== location.hash) history.replaceState(null, "", address);
      address = null;
    });
  }
  address = hash;
}

const notesOf = (accesses) => accesses.map((access, nth) => `${nth}: ${access?.note ?? "nothing"}`).join("\n");

function mark(id, now) {
  const numbers = new Set(now);
  [...element(id).children].forEach((line, nth) => {
    line.classList.toggle("now", numbers.has(nth));
    if (numbers.has(nth)) line.setAttribute("aria-current", "step");
    else line.removeAttribute("aria-current");
  });
}

const press = (id, isPressed) => element(id).setAttribute("aria-pressed", String(isPressed));

function pause() {
  if (!playing) return;
  cancelAnimationFrame(playing);
  playing = null;
  element("play").innerHTML = "▶<span> Play</span>";
  press("play", false);
}

function play() {
  if (playing) {
    pause();
    return show();
  }
  press("play", true);
  element("play").innerHTML = "❚❚<span> Pause</span>";
  let due = 0;
  let last = performance.now();
  const tick = (now) => {
    playing = requestAnimationFrame(tick);
    due = Math.min(due + ((now - last) / 1000) * SPEEDS[element("speed").value], 64);
    last = now;
    if (due < 1) return;
    attempt(() => {
      for (; due >= 1; due -= 1) if (!run.step()) return pause();
    });
    show();
  };
  playing = requestAnimationFrame(tick);
}

const actions = {
  step: () => run.step(),
  back: () => run.back(),
  finish: () => run.finish(),
  restart: () => run.goTo(0),
};

function act(name) {
  pause();
  attempt(actions[name]);
  show();
}

/** Opens the tab to watch, or the game. */
function open(tab) {
  pause();
  view.tab = tab;
  for (const name of ["watch", "game"]) {
    element(name).hidden = name !== tab;
    element(`${name}-tab`).setAttribute("aria-selected", String(name === tab));
  }
  if (tab === "game") game.choose(view.scheme, view.seed);
  show();
}

const KEYS = {
  ArrowRight: () => act("step"),
  ArrowLeft: () => act("back"),
  ArrowDown: () => act("finish"),
  Home: () => act("restart"),
  " ": play,
  v: () => look("side", view.side === "owner" ? "provider" : "owner"),
  c: () => look("label", { block: "number", number: "nothing", nothing: "block" }[view.label]),
  h: () => look("heat", !view.heat),
  l: enlarge,
};

function look(name, value) {
  view[name] = value;
  element("label").value = view.label;
  element("heat").checked = view.heat;
  show();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && event.target.closest("button, summary")) return;
  if (key === "t") return turnTheme();
  if (key === "g") return open(view.tab === "watch" ? "game" : "watch");
  if (view.tab === "game" && "abcd".includes(key)) return game.guess("abcd".indexOf(key));
  if (view.tab !== "watch" || !KEYS[key]) return;
  event.preventDefault();
  KEYS[key]();
}

function turnTheme() {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = isDark ? "light" : "dark";
  redraw();
}

/** Gives the memory the whole width, for a projector. */
function enlarge() {
  press("large", document.body.classList.toggle("large"));
  show();
}

/** Saves the memory as it is drawn now as a picture. */
function save() {
  const surface = asPicture(element("memory"), element("memory").getBoundingClientRect().width);
  drawMemory(surface, run, state, view);
  const picture = new Blob([surface.picture.text(describe(run, view.side))], { type: "image/svg+xml" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(picture) });
  link.download = `${run instanceof Recording ? "trace" : view.scheme}-${run.at}-${view.side}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function redraw() {
  show();
  game.draw();
}

function point(event) {
  const { left, top } = element("memory").getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top];
  const holds = (cell) => x >= cell.x && x < cell.x + cell.width && y >= cell.y && y < cell.y + cell.height;
  const found = cells.findIndex(holds);
  if (found >= 0) element("cell").textContent = describeCell(run, state, found, cells[found]);
}

function listen() {
  for (const name of ["scheme", "workload", "capacity", "batch", "map", "seed", "lazy"]) {
    element(name).addEventListener("change", ({ target }) => {
      if (!target.reportValidity()) return;
      if (target.value === "recorded") return showRecording();
      const isNumber = /^\d+$/.test(target.value);
      // If the batch is the default of the scheme, it becomes the default of the next scheme.
      if (name === "scheme" && view.batch === usualBatch(view.scheme)) view.batch = usualBatch(target.value);
      view[name] = target.type === "checkbox" ? target.checked : isNumber ? Number(target.value) : target.value;
      attempt(begin);
    });
  }
  element("setting").addEventListener("submit", (event) => event.preventDefault());
  element("trace").addEventListener("change", ({ target }) => {
    const [file] = target.files;
    if (file) record(file).catch(complain);
    // The same file may be chosen again.
    target.value = "";
  });
  for (const name of Object.keys(actions)) element(name).addEventListener("click", () => act(name));
  element("play").addEventListener("click", play);
  element("owner").addEventListener("click", () => look("side", "owner"));
  element("provider").addEventListener("click", () => look("side", "provider"));
  element("label").addEventListener("change", ({ target }) => look("label", target.value));
  element("heat").addEventListener("change", ({ target }) => look("heat", target.checked));
  element("large").addEventListener("click", enlarge);
  element("save").addEventListener("click", save);
  element("theme").addEventListener("click", turnTheme);
  element("watch-tab").addEventListener("click", () => open("watch"));
  element("game-tab").addEventListener("click", () => open("game"));
  element("speed").addEventListener("input", showSpeed);
  element("hand").addEventListener("submit", byHand);
  element("memory").addEventListener("pointermove", point);
  element("memory").addEventListener("pointerdown", point);
  document.addEventListener("keydown", onKey);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  new ResizeObserver(() => {
    if (width === (width = document.body.clientWidth)) return;
    redraw();
  }).observe(document.body);
}

function byHand(event) {
  event.preventDefault();
  const kind = event.submitter?.value ?? "read";
  const blocks = element("hand-block").value.match(/\d+/g).map(Number);
  const write = kind === "write" ? element("hand-number").valueAsNumber : undefined;
  const note = (block) => (write === undefined ? `read block ${block}` : `write ${write} into block ${block}`);
  const accesses = blocks.map((block) => ({ block, write, note: note(block) }));
  pause();
  attempt(() => {
    const wrong = blocks.find((block) => block >= view.capacity);
    if (wrong !== undefined) throw new Error(`There is no block ${wrong}: choose from 0 to ${view.capacity - 1}`);
    if (blocks.length > view.batch) throw new Error(`${blocks.length} blocks: choose at most ${view.batch}, the number of accesses at a time`);
    // The work under way ends first.
    if (!run.lastStep.rests) run.finish();
    run.askByHand(kind === "idle" ? { idle: true } : { accesses });
    run.step();
  });
  show();
}

const showSpeed = () => (element("speed-text").textContent = `${SPEEDS[element("speed").value]} /s`);

async function start() {
  engine = await load();
  schemes = engine.ask({ do: "schemes" }).schemes;
  const refused = [];
  view = settingOf(location.hash, schemes, workloads, (name, value) => refused.push(`${name}=${value}`));
  element("scheme").replaceChildren(...schemes.map(({ name, title }) => new Option(title, name)));
  element("capacity").replaceChildren(...CAPACITIES.map((size) => new Option(String(size), String(size))));
  element("batch").replaceChildren(...BATCHES.map((size) => new Option(String(size), String(size))));
  element("workload").replaceChildren(...Object.entries(workloads).map(([name, { title }]) => new Option(title, name)));
  for (const name of ["scheme", "capacity", "workload", "batch", "seed", "label"]) element(name).value = String(view[name]);
  element("lazy").checked = view.lazy;
  element("heat").checked = view.heat;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) element("speed").value = "0";
  showSpeed();
  game = new GamePane(engine, schemes);
  const { step, tab } = view;
  begin();
  if (step > 0) run.goTo(step);
  listen();
  open(tab);
  element("waits").remove();
  if (refused.length > 0) {
    const what = refused.join(", ").slice(0, 200);
    complain(new Error(`The link says ${what}, which is invalid: the page shows the default setting instead`));
  }
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  element("waits").remove();
  const remedy = "This page needs ameles_web.wasm in its folder, and a file server: “cargo xtask web” builds the folder";
  complain(new Error(`${error.message}. ${remedy}`));
});
