// What a step did, in words: for those who do not see the picture, and beside it.

/** The name of a part of memory, with its partition. */
const nameOf = ({ name, partition }) => (typeof partition === "number" ? `partition ${partition}, ${name}` : name);

/** The place of a slot in words. */
export function placeOf(run, slot) {
  const area = run.areas.findLast((area) => area.firstSlot <= slot);
  const bucket = Math.floor((slot - area.firstSlot) / area.slots);
  const within = area.slots > 1 ? `, slot ${(slot - area.firstSlot) % area.slots}` : "";
  const hasBuckets = area.shape === "tree" || area.slots > 1;
  return hasBuckets ? `${nameOf(area)}, bucket ${bucket}${within}` : `${nameOf(area)}, slot ${bucket}`;
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The operation that the provider sees, by parts of memory. */
export function operationOf(run) {
  const { operation } = run.stop;
  if (!operation) return "Nothing is asked of the store.";
  const counts = new Map();
  for (const slot of operation.slots) {
    const area = run.areas.findLast((area) => area.firstSlot <= slot);
    counts.set(area, (counts.get(area) ?? 0) + 1);
  }
  const verb = operation.writes ? (run.stop.work === "fault" ? "changed" : "written") : "read";
  const total = `${plural(operation.slots.length, "slot")} ${operation.slots.length === 1 ? "is" : "are"} ${verb}`;
  if (operation.slots.length <= 8) return `${total}: ${operation.slots.map((slot) => placeOf(run, slot)).join("; ")}.`;
  return `${total}: ${[...counts].map(([area, count]) => `${count} in ${nameOf(area)}`).join(", ")}.`;
}

/** A step, as its owner knows it or as the provider sees it. */
export function describe(run, side) {
  const { stop, access } = run;
  if (stop.step === 0) return "Nothing has been done yet. Step to begin.";
  if (stop.work === "fault") return `Fault ${stop.fault}. ${operationOf(run)}`;
  if (side === "provider") return `Step ${stop.step}. ${operationOf(run)}`;
  const what = workOf(stop, access);
  const outcome = stop.ended ? outcomeOf(stop, access) : operationOf(run);
  return `Step ${stop.step}. ${what} ${outcome}`;
}

function workOf({ work }, access) {
  if (work === "idle") return "Work that was owed.";
  return work === "write" ? `Write ${access.write} into block ${access.block}.` : `Read block ${access.block}.`;
}

function outcomeOf({ work, answer }, access) {
  if (work === "idle") return "It is done.";
  return work === "write" ? "It is done." : `Block ${access.block} holds ${answer}.`;
}

/** The last number that was read. */
export const describeAnswer = ({ block, answer }) => `Block ${block} held ${answer} when it was last read.`;

/** A cell under the pointer. */
export function describeCell(run, state, entry, { slot }) {
  const [reads, writes] = [run.touches.reads[slot], run.touches.writes[slot]];
  const place = placeOf(run, slot);
  const touched = `read ${plural(reads, "time")}, written ${plural(writes, "time")}`;
  if (!state) return `${place}: ${touched}`;
  const block = state.blocks[entry];
  const age = state.old.includes(entry) ? " (an old copy)" : "";
  const holds = block < 0 ? "no block" : `block ${block}, which holds ${state.numbers[entry]}${age}`;
  return `${place}: ${holds}; ${touched}`;
}

/** The trusted side in words. */
export function describeTrusted(state) {
  const stash = state.stash.map(({ block, number }) => `block ${block} = ${number}`).join(", ");
  const counters = state.counters.map(([name, count]) => `${name}: ${count}`).join(", ");
  return `Stash: ${stash || "empty"}.${counters ? ` ${counters}.` : ""}`;
}
