// A heat map over time: a column for each half second, a row for each cell.

import { paint, prepare } from "/page/paint.js";

const COLUMNS = 120;

export class Heat {
  #columns = [];

  /** Takes a column: how often each cell was read and written. */
  push(column) {
    this.#columns.push(column);
    if (this.#columns.length > COLUMNS) this.#columns.shift();
  }

  /** Draws all columns, the newest at the right. */
  draw(canvas) {
    const { context, width, height, colours } = prepare(canvas);
    const rows = Math.max(1, ...this.#columns.map((column) => column.reads.length));
    const hottest = Math.max(1, ...this.#columns.flatMap(({ reads, writes }) => reads.map((r, at) => r + writes[at])));
    const [across, down] = [width / COLUMNS, height / rows];
    this.#columns.forEach(({ reads, writes }, index) => {
      const x = (COLUMNS - this.#columns.length + index) * across;
      reads.forEach((read, row) => paint(context, colours, read, writes[row], hottest, x, row * down, across, down));
    });
  }
}
