// The provider's view: the operations in order, and the touches of each place.

/** The operations of a run. */
export class Touches {
  constructor(slots) {
    this.reads = new Uint32Array(slots);
    this.writes = new Uint32Array(slots);
    this.operations = [];
    /** The number of messages from one processor to another, by “from to”. */
    this.links = new Map();
  }

  /** Adds an operation: { writes, slots, messages }, and other known fields. */
  note(operation) {
    this.operations.push(operation);
    const count = operation.writes ? this.writes : this.reads;
    for (const slot of operation.slots) count[slot] += 1;
    for (const { from, to } of operation.messages ?? []) {
      const link = `${from} ${to}`;
      this.links.set(link, (this.links.get(link) ?? 0) + 1);
    }
  }

  /** The maximum of touches of a place; at least 1. */
  hottest() {
    return this.reads.reduce((most, reads, slot) => Math.max(most, reads + this.writes[slot]), 1);
  }
}
