// A trace that `ameles page watch --csv` or `ameles enclave watch --csv` has written: only the provider's side.

import { slotsOf } from "./player.js";
import { Touches } from "./touches.js";

const MAX_SLOTS = 65_536;
const HEADING = "fault,slot";

/** Parses the lines `fault,slot`. Throws an error with the line's number. */
export function parse(text) {
  const [heading, ...rows] = text.split(/\r?\n/);
  if (heading.trim() !== HEADING) {
    const wanted = `a trace begins with “${HEADING}”, as ameles page watch --csv writes it`;
    throw new Error(`line 1 is “${heading.slice(0, 40)}”: ${wanted}`);
  }
  const faults = [];
  for (const [nth, row] of rows.entries()) {
    if (row.trim() === "") continue;
    const found = /^(\d{1,15}),(\d{1,15})$/.exec(row.trim());
    const line = `line ${nth + 2}`;
    if (!found) throw new Error(`${line} is “${row.slice(0, 40)}”: give two numbers, the fault and the slot`);
    const [fault, slot] = [Number(found[1]), Number(found[2])];
    if (slot >= MAX_SLOTS) throw new Error(`${line} names slot ${slot}: at most ${MAX_SLOTS} slots can be drawn`);
    const last = faults.at(-1);
    if (last && fault < last.number) throw new Error(`${line} goes back from fault ${last.number} to ${fault}`);
    if (last?.number === fault) last.slots.push(slot);
    else faults.push({ number: fault, slots: [slot] });
  }
  if (faults.length === 0) throw new Error("the trace has no line after its heading");
  return faults;
}

/** A recorded trace, which has the steps of a run. */
export class Recording {
  #faults;

  constructor(text, name) {
    this.#faults = parse(text);
    this.name = name;
    const slots = 1 + this.#faults.reduce((max, { slots }) => Math.max(max, ...slots), 0);
    const sizes = { firstSlot: 0, buckets: slots, slots: 1, firstEntry: 0, entries: 1 };
    this.areas = [{ name: "untrusted memory", shape: "row", ...sizes, level: null }];
    this.maps = [];
    this.code = [];
    this.goTo(0);
  }

  get at() {
    return this.lastStep.step;
  }

  /** Returns null: a trace contains nothing that only the owner knows. */
  state() {
    return null;
  }

  end() {}

  step() {
    const fault = this.#faults[this.at];
    this.finished = !fault;
    if (!fault) return false;
    const operation = { writes: true, slots: fault.slots };
    this.lastStep = { step: this.at + 1, rests: true, lines: [], work: "fault", fault: fault.number, operation };
    this.touches.note({ ...operation, step: this.at });
    return true;
  }

  finish() {
    return this.step();
  }

  back() {
    this.goTo(this.at - 1);
  }

  goTo(step) {
    this.touches = new Touches(slotsOf(this.areas));
    this.lastStep = { step: 0, rests: true, lines: [] };
    this.finished = false;
    while (this.at < step && this.step());
  }
}
