// A run of a scheme under a workload: one store operation forward, or back by a new run from the seed.

import { Touches } from "./touches.js";
import { copiesOf } from "./workloads.js";

/** Returns the number of slots of all parts of a memory. */
export const slotsOf = (areas) => areas.reduce((slots, area) => slots + area.buckets * area.slots, 0);

/** A run. */
export class Player {
  #engine;
  #simulation = null;
  /** A copy of the program for each access of a batch, and what each has read. */
  #programs = [];
  #found = [];
  /** Rounds by hand that wait for their turn. */
  #byHand = [];

  /** `setting` is { scheme, capacity, seed, workload, batch, lazy, map, stash }. */
  constructor(engine, setting) {
    this.#engine = engine;
    this.setting = setting;
    this.stash = setting.stash;
    /** All rounds so far, including those after the current step. */
    this.asked = [];
    this.#begin();
  }

  #begin() {
    this.end();
    const { scheme, capacity, seed, lazy, batch, map, workload } = this.setting;
    const made = this.#engine.ask({ do: "make", scheme, capacity, seed, batch, lazy, map });
    this.#simulation = made.simulation;
    this.areas = made.areas;
    this.maps = made.maps;
    this.code = made.code;
    this.processors = made.processors ?? 0;
    this.touches = new Touches(slotsOf(made.areas));
    this.#programs = copiesOf(workload, capacity, seed, batch);
    this.#found = [];
    this.lastStep = { step: 0, rests: true, lines: [] };
    /** The current or last round: { accesses, byProgram }, where an access may be null, or { idle }. */
    this.round = null;
    this.rounds = 0;
    this.finished = false;
    this.wrong = null;
    this.answered = null;
    this.array = new Map();
  }

  /** Drops the simulation. */
  end() {
    if (this.#simulation !== null) this.#engine.ask({ do: "drop", simulation: this.#simulation });
    this.#simulation = null;
  }

  /** The number of steps so far. */
  get at() {
    return this.lastStep.step;
  }

  /** Returns the owner's state. */
  state() {
    return this.#engine.ask({ do: "state", simulation: this.#simulation });
  }

  /** Requests a round by hand, or pending work. Later rounds are forgotten. */
  askByHand(round) {
    this.asked.length = this.rounds;
    this.#byHand.push(round);
    this.finished = false;
  }

  /** Steps forward by one store operation. Returns false if there is nothing left to do. */
  step() {
    return this.#steps(1) === 1;
  }

  /** Runs to the end of the current work, or of the next access with its pending work. */
  finish() {
    let made = this.#steps(1);
    while (made > 0 && !this.lastStep.rests) made += this.#steps(10_000);
    return made > 0;
  }

  /** Steps back by one store operation. */
  back() {
    this.goTo(this.at - 1);
  }

  /** Goes to a step by a run from the seed. */
  goTo(step) {
    this.#byHand = [];
    this.#begin();
    while (this.at < step && this.#steps(step - this.at) > 0);
  }

  /** Makes at most this number of steps, up to the next rest. Returns the number of steps made. */
  #steps(times) {
    if (this.lastStep.rests && !this.#askNext()) {
      this.finished = true;
      return 0;
    }
    const results = this.#engine.ask({ do: "step", simulation: this.#simulation, times });
    const done = results.filter((result) => result.work);
    done.forEach((result) => this.#note(result));
    return done.length;
  }

  #note(result) {
    this.lastStep = result;
    if (result.operation) {
      this.touches.note({ ...result.operation, step: result.step, work: result.work, round: this.rounds - 1 });
    }
    if (!result.ended || result.work === "idle") return;
    const { accesses, byProgram } = this.round;
    if (byProgram) this.#found = result.answers.map((answer) => answer ?? undefined);
    const reads = [];
    for (const [nth, access] of accesses.entries()) {
      if (!access) continue;
      const { block, write } = access;
      if (write !== undefined) {
        this.array.set(block, write);
        continue;
      }
      const read = { block, answer: result.answers[nth] };
      reads.push(read);
      if (read.answer !== (this.array.get(block) ?? 0)) this.wrong = read;
    }
    if (reads.length > 0) this.answered = reads;
  }

  /** Returns the next accesses of the programs, or null if all of them have ended. */
  #nextOfPrograms() {
    const steps = this.#programs.map((program, nth) => program.next(this.#found[nth]));
    if (steps.every(({ done }) => done)) return null;
    const accesses = steps.map(({ value, done }) => (done ? null : value));
    // An access without a program is empty.
    while (accesses.length < this.setting.batch) accesses.push(null);
    return { accesses, byProgram: true };
  }

  /** Requests the next round: a former one, one by hand, or one of the program. */
  #askNext() {
    const again = this.asked[this.rounds];
    const byHand = again ? null : this.#byHand.shift();
    let next = again ?? byHand;
    if (!next || next.byProgram) {
      const ofPrograms = this.#nextOfPrograms();
      if (!ofPrograms && !again) return false;
      next = again ?? ofPrograms;
    }
    if (next.idle) {
      this.#engine.ask({ do: "idle", simulation: this.#simulation });
    } else {
      const batch = next.accesses.map((access) => access && { block: access.block, write: access.write });
      this.#engine.ask({ do: "access", simulation: this.#simulation, batch });
    }
    this.round = next;
    this.asked[this.rounds] = next;
    this.rounds += 1;
    return true;
  }
}
