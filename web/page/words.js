// Describes a step in words, next to the picture and for readers who do not see it.

import { lengthsOf } from "./network.js";

/** The part of a round that messages belong to. */
const PHASES = {
  sort: "Processors sort their requests by block",
  neighbours: "Neighbours compare their blocks",
  spread: "All learn the new leaves",
  ask: "Each asks the owner of its path",
  answer: "The owners of paths send the requested contents",
  "pass-on": "Contents are passed on to further requests for the same block",
  route: "Blocks are routed to the processors of their new leaves",
  back: "Answers are sorted back to their requesters",
};
/** The maximum of messages that are listed one by one. */
const MAX_NAMED = 8;

/** Returns the name of a part of memory, with its partition. */
function nameOf({ name, partition, part, map }) {
  if (typeof map === "number") return `position map ${map}, ${name}`;
  return typeof partition === "number" ? `${part} ${partition}, ${name}` : name;
}

/** Describes the place of a slot. */
export function placeOf(run, slot) {
  const area = run.areas.findLast((area) => area.firstSlot <= slot);
  const bucket = Math.floor((slot - area.firstSlot) / area.slots);
  const within = area.slots > 1 ? `, slot ${(slot - area.firstSlot) % area.slots}` : "";
  const hasBuckets = area.shape === "tree" || area.slots > 1;
  return hasBuckets ? `${nameOf(area)}, bucket ${bucket}${within}` : `${nameOf(area)}, slot ${bucket}`;
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Describes the operation that the provider sees, by parts of memory. */
export function operationOf(run) {
  const { operation } = run.lastStep;
  if (!operation) return "The store gets no request.";
  if (operation.messages) return messagesOf(operation);
  const counts = new Map();
  for (const slot of operation.slots) {
    const area = run.areas.findLast((area) => area.firstSlot <= slot);
    counts.set(area, (counts.get(area) ?? 0) + 1);
  }
  const verb = operation.writes ? (run.lastStep.work === "fault" ? "changed" : "written") : "read";
  const total = `${plural(operation.slots.length, "slot")} ${operation.slots.length === 1 ? "is" : "are"} ${verb}`;
  if (operation.slots.length <= 8) return `${total}: ${operation.slots.map((slot) => placeOf(run, slot)).join("; ")}.`;
  return `${total}: ${[...counts].map(([area, count]) => `${count} in ${nameOf(area)}`).join(", ")}.`;
}

function messagesOf({ messages, phase }) {
  const ends = messages.map(({ from, to }) => `${from} → ${to}`).join(", ");
  return `${PHASES[phase]}: ${lengthsOf(messages)}${messages.length <= MAX_NAMED ? `: ${ends}` : ""}.`;
}

/** Describes a step, as the owner knows it or as the provider sees it. */
export function describe(run, side) {
  const { lastStep, round } = run;
  if (lastStep.step === 0) return "Nothing has been done yet. Step to begin.";
  if (lastStep.work === "fault") return `Fault ${lastStep.fault}. ${operationOf(run)}`;
  if (side === "provider") return `Step ${lastStep.step}. ${operationOf(run)}`;
  const what = workOf(lastStep, round);
  const outcome = lastStep.ended ? outcomeOf(lastStep, round) : operationOf(run);
  return `Step ${lastStep.step}. ${what} ${outcome}`;
}

const requestOf = (access) => {
  if (!access) return "nothing";
  return access.write === undefined ? `read block ${access.block}` : `write ${access.write} into block ${access.block}`;
};
const capital = (text) => text[0].toUpperCase() + text.slice(1);

function workOf({ work }, round) {
  if (work === "idle") return "Pending work.";
  const requests = round.accesses.map(requestOf);
  return requests.length === 1 ? `${capital(requests[0])}.` : `${requests.length} at a time: ${requests.join("; ")}.`;
}

function outcomeOf({ work, answers }, round) {
  const reads = work === "idle" ? [] : round.accesses.flatMap((access, nth) => {
    return access && access.write === undefined ? [`Block ${access.block} holds ${answers[nth]}.`] : [];
  });
  return reads.length > 0 ? reads.join(" ") : "It is done.";
}

/** Describes the numbers that were last read. */
export const describeAnswer = (reads) => {
  const held = reads.map(({ block, answer }) => `block ${block} held ${answer}`);
  return `${capital(held.join(", "))} when ${reads.length > 1 ? "they were" : "it was"} last read.`;
};

/** Describes a cell under the pointer. */
export function describeCell(run, state, entry, { slot, area }) {
  const [reads, writes] = [run.touches.reads[slot], run.touches.writes[slot]];
  const place = placeOf(run, slot);
  const touched = `read ${plural(reads, "time")}, written ${plural(writes, "time")}`;
  if (!state) return `${place}: ${touched}`;
  const block = state.blocks[entry];
  const age = state.old.includes(entry) ? " (an old copy)" : "";
  const holds = block < 0 ? "no block" : `${contentsOf(run, state, entry, area)}${age}`;
  return `${place}: ${holds}; ${touched}`;
}

function contentsOf(run, { blocks, numbers, maps: { leaves } }, entry, { map }) {
  const block = blocks[entry];
  if (!leaves[entry]) return `block ${block}, which holds ${numbers[entry]}`;
  const first = block * run.maps[map - 1].leaves;
  const whose = map > 1 ? `PosMap blocks ${first} to ${first + leaves[entry].length - 1} of map ${map - 1}` : `blocks ${first} to ${first + leaves[entry].length - 1}`;
  return `PosMap block ${block}, with the leaves of ${whose}: ${leavesOf(leaves[entry])}`;
}

/** Lists the leaves in a PosMap block. */
export const leavesOf = (leaves) => leaves.map((leaf) => leaf ?? "–").join(" ");

/** Describes the trees of a recursive position map. The text is empty if there are none. */
export function describeMaps(maps) {
  if (maps.length === 0) return "";
  const sizes = new Intl.ListFormat("en-GB").format(maps.map(({ blocks }) => String(blocks)));
  const trees = maps.length > 1 ? "trees" : "a tree";
  return `Its position map is in memory: ${trees} of ${sizes} PosMap blocks, each with ${maps[0].leaves} leaves.`;
}

/** Describes the trusted side. */
export function describeTrusted(state) {
  const by = (processor) => (typeof processor === "number" ? ` (processor ${processor})` : "");
  const held = ({ block, number, processor }) => `block ${block} = ${number}${by(processor)}`;
  const stash = state.stash.map(held).join(", ");
  const inMaps = state.maps.stashes.map((held, nth) => {
    const blocks = held.map(({ block, leaves }) => `PosMap ${block} = ${leavesOf(leaves)}`).join(", ");
    return ` Stash of position map ${nth + 1}: ${blocks || "empty"}.`;
  });
  const counters = state.counters.map(([name, count]) => `${name}: ${count}`).join(", ");
  return `Stash: ${stash || "empty"}.${inMaps.join("")}${counters ? ` ${counters}.` : ""}`;
}
