// The game: be the provider, and guess which block was requested.
//
// Four blocks are accessed once each, and the provider sees the accesses. Then one of them is accessed again. Each round
// has new random choices.

import { coloursOf } from "./colours.js";
import { layOut } from "./layout.js";
import { drawNetwork } from "./network.js";
import { slotsOf } from "./player.js";
import { randomFrom } from "./random.js";
import { usualBatch } from "./setting.js";
import { prepare } from "./surface.js";

export const CANDIDATES = 4;
const CAPACITY = 16;

/** Plays a round. Returns what the provider saw of each candidate, and of the access to guess. */
export function playRound(engine, entry, seed) {
  const random = randomFrom(seed);
  const made = engine.ask({ do: "make", scheme: entry.name, capacity: CAPACITY, seed, batch: Math.min(2, usualBatch(entry.name)) });
  const { simulation } = made;
  // Against a scheme that hides only changes, the owner writes, and the provider sees the changes.
  const writes = entry.adversary === "snapshot";
  const access = (block, write) => {
    engine.ask({ do: "access", simulation, batch: [{ block, write }] });
    const results = engine.ask({ do: "step", simulation, times: 100_000 });
    const seen = results.flatMap((result) => (result.operation ? [result.operation] : []));
    return writes ? seen.filter((operation) => operation.writes) : seen;
  };
  for (let block = 0; block < CAPACITY; block++) access(block, block + 1);
  const blocks = [];
  while (blocks.length < CANDIDATES) {
    const block = random(CAPACITY);
    if (!blocks.includes(block)) blocks.push(block);
  }
  const ask = (block) => access(block, writes ? 100 + random(100) : undefined);
  const shown = blocks.map(ask);
  const answer = random(CANDIDATES);
  const seen = ask(blocks[answer]);
  engine.ask({ do: "drop", simulation });
  return { areas: made.areas, processors: made.processors ?? 0, shown, seen, answer, writes };
}

/** Returns the places that an operation touches, and the ends of its messages. */
const places = ({ writes, slots, messages = [] }) => [
  ...slots.map((slot) => 2 * slot + Number(writes)),
  ...messages.map(({ from, to, bytes }) => `${from} ${to} ${bytes}`),
];
const touched = (operations) => new Set(operations.flatMap(places));

/** Returns the similarity of two views: the share of places that both touched among those that either touched. */
function likeness(one, other) {
  const [here, there] = [touched(one), touched(other)];
  const both = [...here].filter((place) => there.has(place)).length;
  return both / Math.max(1, here.size + there.size - both);
}

/** Returns the machine's guess: the candidate with the most similar view, at random among equals. */
export function guess(round, random) {
  const alike = round.shown.map((shown) => likeness(shown, round.seen));
  const best = alike.flatMap((value, nth) => (value === Math.max(...alike) ? [nth] : []));
  return best[random(best.length)];
}

/** Draws a small picture of what the provider saw of one access. */
export function drawSight(canvas, { areas, processors }, operations) {
  const width = canvas.getBoundingClientRect().width;
  const drawing = layOut(areas, width, processors > 1 ? 0 : -14, processors);
  const context = prepare(canvas, drawing.height);
  const colours = coloursOf(canvas);
  if (drawing.network) drawMessages({ context, colours }, drawing.network, operations);
  const [read, written] = [new Set(), new Set()];
  for (const { writes, slots } of operations) slots.forEach((slot) => (writes ? written : read).add(slot));
  const counts = new Uint32Array(slotsOf(areas));
  for (const { slots } of operations) for (const slot of slots) counts[slot] += 1;
  for (const cell of drawing.cells) {
    const [isRead, isWritten] = [read.has(cell.slot), written.has(cell.slot)];
    context.fillStyle = isRead ? colours.read : isWritten ? colours.write : colours.sealed;
    const [gap, height] = [cell.width > 3 ? 1 : 0, Math.max(1, cell.height - 1)];
    context.fillRect(cell.x, cell.y, cell.width - gap, height);
    if (!isRead || !isWritten) continue;
    context.fillStyle = colours.write;
    context.fillRect(cell.x, cell.y + height / 2, cell.width - gap, height / 2);
  }
}

/** Draws an arc for each pair of processors with a message. Its width shows the longest message. */
function drawMessages(brush, network, operations) {
  const sent = operations.flatMap(({ messages = [] }) => messages);
  const links = new Map();
  for (const message of sent.toSorted((one, other) => one.bytes - other.bytes)) links.set(`${message.from} ${message.to}`, message);
  const title = `network: ${sent.length} messages`;
  drawNetwork({ ...brush, view: {} }, { ...network, title }, { messages: [...links.values()] }, true);
}
