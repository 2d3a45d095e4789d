// Draws the updates that the server sends twice a second: counters that only grow. The page shows how much they grew.

import { compareWithExpected } from "/page/expected.js";
import { Heat } from "/page/heat.js";
import { drawTree } from "/page/tree.js";
import { bytes, count, dollars, milliseconds, ratio } from "/page/units.js";

const element = (id) => document.getElementById(id);
const view = { asked: "blocks", seen: "time", paused: false };
const heat = { blocks: new Heat(), names: new Heat(), seen: new Heat() };
let last = null;
let levels = [];

function growth(now, before) {
  const grown = (name) => now[name].map((value, cell) => value - (before?.[name][cell] ?? value));
  return { reads: grown("reads"), writes: grown("writes") };
}

function onUpdate(update) {
  showWarnings(update.warnings);
  if (view.paused) return;
  apply(update);
  draw();
}

/** The last minute, as it was before the page was opened. */
function onHistory(updates) {
  if (view.paused) return;
  Object.values(heat).forEach((map) => map.clear());
  last = null;
  updates.forEach(apply);
  draw();
}

function apply(update) {
  heat.blocks.push(growth(update.requests.blocks, last?.requests.blocks));
  heat.names.push(growth(update.requests.names, last?.requests.names));
  // After a switch, the counters are of another store and the figures start from zero.
  const before = last?.demonstration?.turned === update.demonstration?.turned ? last : null;
  levels = update.store.levels.map((level, at) => ({
    buckets: level.buckets,
    ...growth(level, before?.store.levels[at]),
  }));
  heat.seen.push(compareWithExpected(growth(update.store.whole, before?.store.whole), levels));
  showFigures(update, before);
  showDemonstration(update.demonstration);
  last = update;
}

function draw() {
  heat[view.asked].draw(element("asked"));
  if (view.seen === "time") heat.seen.draw(element("seen"));
  else drawTree(element("seen"), levels);
}

function showFigures(update, before) {
  const { figures, baseline, prices, stated_per_byte } = update;
  const seconds = before ? (update.time - before.time) / 1000 : 0;
  const rate = (name) => (seconds > 0 ? bytes((figures[name] - before.figures[name]) / seconds) + "/s" : "–");
  const off = update.demonstration?.oblivious === false;
  const ofTheOram = (text) => (off ? "–" : text);
  // With the ORAM off both columns would be equal, so there is one.
  const line = (name, how, one, other) =>
    off ? [name, how(one)] : [name, how(one), how(other), ratio(one, other)];
  rows(element("costs"), [
    line("Requests", count, figures.requests, baseline.requests),
    line("Bytes moved", bytes, figures.bytes_up + figures.bytes_down, baseline.bytes),
    line("Dollars", dollars, figures.dollars, baseline.dollars),
  ]);
  element("without").hidden = element("ratio").hidden = off;
  element("moved").textContent = off
    ? ""
    : `Accesses move ${stated_per_byte.toLocaleString("en", { maximumFractionDigits: 1 })} bytes for each byte of a block, as serve prints at its start. Checkpoints come on top, and dominate while there are few requests.`;
  element("meanings").hidden = off;
  element("prices").textContent = prices.by_default
    ? `Dollars for requests and traffic at the list prices of ${prices.provider}, ${prices.as_of}: a default, because --prices was not given.`
    : `Dollars for requests and traffic at the prices of ${prices.provider}, ${prices.as_of}.`;
  definitions(element("figures"), [
    ["Applications", rate("asked_bytes")],
    ["Provider, up", rate("bytes_up")],
    ["Provider, down", rate("bytes_down")],
    ["Latency, median", milliseconds(figures.latency_p50)],
    ["Latency, p99", milliseconds(figures.latency_p99)],
    ["Accesses", ofTheOram(count(figures.accesses))],
    ["In the stash", ofTheOram(`${count(figures.stash)} (peak ${count(figures.stash_peak)})`)],
    ["Trusted memory", ofTheOram(bytes(figures.trusted_bytes))],
    ["Stored at the provider", bytes(figures.stored_bytes)],
  ]);
  definitions(element("recovery"), off ? [] : update.recovery);
}

/** Shows the warnings that need the owner's action, also while the maps are paused. */
function showWarnings(warnings) {
  const list = element("warnings");
  const shown = [...list.children].map((line) => line.textContent);
  // A screen reader repeats lines that are replaced.
  if (shown.join("\n") === warnings.join("\n")) return;
  list.replaceChildren(
    ...warnings.map((textContent) => Object.assign(document.createElement("p"), { textContent })),
  );
}

function rows(body, lines) {
  body.replaceChildren(
    ...lines.map(([name, ...values]) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = name;
      row.append(head, ...values.map((value) => Object.assign(document.createElement("td"), { textContent: value })));
      return row;
    }),
  );
}

function definitions(list, lines) {
  list.replaceChildren(
    ...lines.map(([name, value]) => {
      const pair = document.createElement("div");
      pair.append(
        Object.assign(document.createElement("dt"), { textContent: name }),
        Object.assign(document.createElement("dd"), { textContent: value }),
      );
      return pair;
    }),
  );
}

function showDemonstration(demonstration) {
  const there = demonstration !== null;
  element("demonstration").hidden = !there;
  element("switch-key").hidden = !there;
  if (!there || demonstration.turned === last?.demonstration?.turned) return;
  const { oblivious } = demonstration;
  element("oblivious").checked = oblivious;
  document.documentElement.classList.toggle("bare", !oblivious);
  element("bare").hidden = oblivious;
  element("figures-title").textContent = oblivious
    ? "With the ORAM, since it was switched on"
    : "Without the ORAM, since it was switched off";
  element("with").textContent = oblivious ? "with Ameles" : "without the ORAM";
  element("finding").textContent = oblivious ? WITH : WITHOUT;
  element("switch-words").hidden = false;
  element("switch-words").textContent = oblivious
    ? "The ORAM is on. Switch it off above, and both maps show the same line."
    : "The ORAM is off: blocks are sealed, and slot n holds block n. Switch it on above, and the line on the right ends.";
  showSeen(view.seen);
}

async function setOblivious(oblivious) {
  const answer = await fetch("/page/oblivious", { method: "POST", body: String(oblivious) }).catch(() => null);
  if (answer?.ok) return;
  element("oblivious").checked = !oblivious;
  state("the switch was refused", true);
}

const WITH = element("finding").textContent;
const WITHOUT =
  "Without the ORAM it is there: the provider sees which blocks are requested, and how often, although it cannot read them.";

function state(text, alarm = false) {
  element("state").textContent = text;
  element("state").classList.toggle("alarm", alarm);
}

function press(button, pressed) {
  element(button).setAttribute("aria-pressed", String(pressed));
}

function showBy(asked) {
  view.asked = asked;
  press("by-blocks", asked === "blocks");
  press("by-names", asked === "names");
  element("asked-rows").textContent = asked === "blocks" ? "first block at the top" : "each row is a 64th of all names";
  draw();
}

function showSeen(seen) {
  view.seen = seen;
  press("by-time", seen === "time");
  press("by-tree", seen === "tree");
  const rows = isBare() ? "all slots, first at the left" : "root at the top";
  element("by-tree").textContent = isBare() ? "As an array" : "As a tree";
  element("seen-rows").textContent = seen === "time" ? "first slot at the top" : rows;
  const schedule = seen === "time"
    ? "Every access passes the top of the tree and few of the leaves, whichever block it reads, so the top is dense. Colours are relative to this public schedule; a pattern would be a line."
    : "Colours are relative to each level. Hollow: the top of the tree, which is on this machine and which the provider never sees.";
  element("seen-note").textContent = isBare() ? "Slot n holds block n: only the contents are hidden." : schedule;
  element("seen-columns").textContent = seen === "time" ? "a minute ago → now" : "the last half second";
  const shape = seen === "time" ? "over time of the slots" : "in the shape of the store of the slots";
  element("seen").setAttribute("aria-label", `Heat map ${shape} that were touched`);
  draw();
}

function pause(paused) {
  view.paused = paused;
  press("pause", paused);
  state(paused ? "paused" : "live");
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  showTheme();
}

function showTheme() {
  press("theme", isDark());
  draw();
}

const isBare = () => document.documentElement.classList.contains("bare");
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

element("by-blocks").addEventListener("click", () => showBy("blocks"));
element("by-names").addEventListener("click", () => showBy("names"));
element("by-time").addEventListener("click", () => showSeen("time"));
element("by-tree").addEventListener("click", () => showSeen("tree"));
element("pause").addEventListener("click", () => pause(!view.paused));
element("theme").addEventListener("click", () => theme(!isDark()));
element("oblivious").addEventListener("change", (event) => setOblivious(event.target.checked));
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // A key for the control with the focus is not handled here.
  if (event.key === " " && event.target !== document.body) return;
  const keys = {
    " ": () => pause(!view.paused),
    b: () => showBy(view.asked === "blocks" ? "names" : "blocks"),
    v: () => showSeen(view.seen === "time" ? "tree" : "time"),
    t: () => theme(!isDark()),
    o: () => !element("demonstration").hidden && element("oblivious").click(),
  };
  const act = keys[event.key.toLowerCase()];
  if (act) {
    event.preventDefault();
    act();
  }
});

showTheme();
showSeen(view.seen);
const stream = new EventSource("/page/stream");
stream.addEventListener("open", () => state("live"));
stream.addEventListener("history", (event) => onHistory(JSON.parse(event.data)));
stream.addEventListener("message", (event) => onUpdate(JSON.parse(event.data)));
stream.addEventListener("error", () => state("the gateway does not answer", true));
