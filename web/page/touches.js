// The provider's view: operations in their order, and how often each place was touched.

/** The operations of a run. */
export class Touches {
  constructor(slots) {
    this.reads = new Uint32Array(slots);
    this.writes = new Uint32Array(slots);
    this.operations = [];
    /** How often one processor has sent another a message, by “from to”. */
    this.links = new Map();
  }

  /** Records an operation: { writes, slots, messages }, with what else is known of it. */
  note(operation) {
    this.operations.push(operation);
    const count = operation.writes ? this.writes : this.reads;
    for (const slot of operation.slots) count[slot] += 1;
    for (const { from, to } of operation.messages ?? []) {
      const link = `${from} ${to}`;
      this.links.set(link, (this.links.get(link) ?? 0) + 1);
    }
  }

  /** The maximum of touches of any place; at least 1. */
  hottest() {
    return this.reads.reduce((most, reads, slot) => Math.max(most, reads + this.writes[slot]), 1);
  }
}
