// A trace that `ameles page watch --csv` or `ameles enclave watch --csv` has written: only the provider's side.

import { slotsOf } from "./player.js";
import { Touches } from "./touches.js";

const MOST_SLOTS = 65_536;
const HEADING = "fault,slot";

/** Parses the lines `fault,slot`. Throws an error with the line's number. */
export function parse(text) {
  const [heading, ...rows] = text.split(/\r?\n/);
  if (heading.trim() !== HEADING) {
    const wanted = `a trace begins with “${HEADING}”, as ameles page watch --csv writes it`;
    throw new Error(`line 1 is “${heading.slice(0, 40)}”: ${wanted}`);
  }
  const moments = [];
  for (const [nth, row] of rows.entries()) {
    if (row.trim() === "") continue;
    const found = /^(\d{1,15}),(\d{1,15})$/.exec(row.trim());
    const line = `line ${nth + 2}`;
    if (!found) throw new Error(`${line} is “${row.slice(0, 40)}”: give two numbers, the fault and the slot`);
    const [fault, slot] = [Number(found[1]), Number(found[2])];
    if (slot >= MOST_SLOTS) throw new Error(`${line} names slot ${slot}: at most ${MOST_SLOTS} slots can be drawn`);
    const last = moments.at(-1);
    if (last && fault < last.fault) throw new Error(`${line} goes back from fault ${last.fault} to ${fault}`);
    if (last?.fault === fault) last.slots.push(slot);
    else moments.push({ fault, slots: [slot] });
  }
  if (moments.length === 0) throw new Error("the trace has no line after its heading");
  return moments;
}

/** A recorded trace, which has the steps of a run. */
export class Recording {
  #moments;

  constructor(text, name) {
    this.#moments = parse(text);
    this.name = name;
    const slots = 1 + this.#moments.reduce((most, { slots }) => Math.max(most, ...slots), 0);
    const sizes = { firstSlot: 0, buckets: slots, slots: 1, firstEntry: 0, entries: 1 };
    this.areas = [{ name: "untrusted memory", shape: "row", ...sizes, level: null }];
    this.maps = [];
    this.code = [];
    this.goTo(0);
  }

  get at() {
    return this.stop.step;
  }

  /** Returns null: a trace contains nothing that only the owner knows. */
  state() {
    return null;
  }

  end() {}

  step() {
    const moment = this.#moments[this.at];
    this.finished = !moment;
    if (!moment) return false;
    const operation = { writes: true, slots: moment.slots };
    this.stop = { step: this.at + 1, rests: true, lines: [], work: "fault", fault: moment.fault, operation };
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
    this.stop = { step: 0, rests: true, lines: [] };
    this.finished = false;
    while (this.at < step && this.step());
  }
}
