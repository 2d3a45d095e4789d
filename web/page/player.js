// A run of a scheme under a workload: forward by one store operation, and back by running it again from its seed.

import { randomFrom } from "./random.js";
import { Touches } from "./touches.js";
import { workloads } from "./workloads.js";

/** The slots of all parts of a memory. */
export const slotsOf = (areas) => areas.reduce((slots, area) => slots + area.buckets * area.slots, 0);

/** A run. */
export class Player {
  #engine;
  #simulation = null;
  #program = null;
  #found;
  /** Accesses that were asked for by hand and wait for their turn. */
  #byHand = [];

  /** `setting` is { scheme, capacity, seed, workload, lazy, stash }. */
  constructor(engine, setting) {
    this.#engine = engine;
    this.setting = setting;
    this.stash = setting.stash;
    /** All accesses that were ever asked for, those that were gone back from as well. */
    this.asked = [];
    this.#begin();
  }

  #begin() {
    this.end();
    const { scheme, capacity, seed, lazy, workload } = this.setting;
    const made = this.#engine.ask({ do: "make", scheme, capacity, seed, lazy });
    this.#simulation = made.simulation;
    this.areas = made.areas;
    this.blocksPerSlot = made.blocksPerSlot;
    this.code = made.code;
    this.touches = new Touches(slotsOf(made.areas));
    this.#program = workloads[workload].program(capacity, randomFrom(seed));
    this.#found = undefined;
    this.stop = { step: 0, rests: true, lines: [] };
    this.access = null;
    this.accesses = 0;
    this.finished = false;
    this.wrong = null;
    this.answered = null;
    this.array = new Map();
  }

  /** Gives the simulation up. */
  end() {
    if (this.#simulation !== null) this.#engine.ask({ do: "drop", simulation: this.#simulation });
    this.#simulation = null;
  }

  /** Steps so far. */
  get at() {
    return this.stop.step;
  }

  /** All that the owner knows. */
  state() {
    return this.#engine.ask({ do: "state", simulation: this.#simulation });
  }

  /** Asks for an access by hand, or for work that is owed; what had been asked for later is forgotten. */
  askByHand(access) {
    this.asked.length = this.accesses;
    this.#byHand.push(access);
    this.finished = false;
  }

  /** Goes on by one operation of the store. False if there is nothing left to do. */
  step() {
    return this.#steps(1) === 1;
  }

  /** Goes on to the end of the work that is under way, or of the next access with what it owes. */
  finish() {
    let made = this.#steps(1);
    while (made > 0 && !this.stop.rests) made += this.#steps(10_000);
    return made > 0;
  }

  /** Goes back by one operation of the store. */
  back() {
    this.goTo(this.at - 1);
  }

  /** Goes to a step by running from the seed. */
  goTo(step) {
    this.#byHand = [];
    this.#begin();
    while (this.at < step && this.#steps(step - this.at) > 0);
  }

  /** Makes at most so many steps, up to the next rest. Returns how many it made. */
  #steps(times) {
    if (this.stop.rests && !this.#askNext()) {
      this.finished = true;
      return 0;
    }
    const stops = this.#engine.ask({ do: "step", simulation: this.#simulation, times });
    const made = stops.filter((stop) => stop.work);
    made.forEach((stop) => this.#note(stop));
    return made.length;
  }

  #note(stop) {
    this.stop = stop;
    if (stop.operation) {
      this.touches.note({ ...stop.operation, step: stop.step, work: stop.work, access: this.accesses - 1 });
    }
    if (!stop.ended || stop.work === "idle") return;
    this.#found = stop.answer ?? undefined;
    const { block, write } = this.access;
    if (stop.work === "read") this.answered = { block, answer: stop.answer };
    if (stop.work === "write") this.array.set(block, write);
    else if (stop.answer !== (this.array.get(block) ?? 0)) this.wrong = { block, answer: stop.answer };
  }

  /** Asks for the next access: one that was asked for before, by hand, or by the program. */
  #askNext() {
    const again = this.asked[this.accesses];
    const byHand = again ? null : this.#byHand.shift();
    let next = again ?? byHand;
    if (!next || next.byProgram) {
      const { value, done } = this.#program.next(this.#found);
      if (done && !again) return false;
      next = again ?? { ...value, byProgram: true };
    }
    if (next.idle) {
      this.#engine.ask({ do: "idle", simulation: this.#simulation });
    } else {
      this.#engine.ask({ do: "access", simulation: this.#simulation, block: next.block, write: next.write });
    }
    this.access = next;
    this.asked[this.accesses] = next;
    this.accesses += 1;
    return true;
  }
}
