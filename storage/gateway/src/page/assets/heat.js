// A heat map over time: a column for each half second, a row for each cell.

import { paint, prepare } from "/page/paint.js";

const COLUMNS = 120;

export class Heat {
  #columns = [];

  /** Forgets all columns. */
  clear() {
    this.#columns = [];
  }

  /** Adds a column, which has the reads and writes of each cell. */
  push(column) {
    this.#columns.push(column);
    if (this.#columns.length > COLUMNS) this.#columns.shift();
  }

  /** Draws all columns, the newest at the right. */
  draw(canvas) {
    const { context, width, height, colours } = prepare(canvas);
    const hottest = Math.max(1, ...this.#columns.flatMap(({ reads, writes }) => reads.map((r, at) => r + writes[at])));
    const across = width / COLUMNS;
    this.#columns.forEach(({ reads, writes }, index) => {
      const x = (COLUMNS - this.#columns.length + index) * across;
      const down = height / Math.max(1, reads.length);
      reads.forEach((read, row) => paint(context, colours, read, writes[row], hottest, x, row * down, across, down));
    });
  }
}
