// The tree of buckets: a row for each level, its cells from the left to the right.

import { paint, prepare } from "/page/paint.js";

const GAP = 2;

/** Draws how often the cells of each level were touched. */
export function drawTree(canvas, levels) {
  const { context, width, height, colours } = prepare(canvas);
  if (levels.length === 0) return;
  const down = height / levels.length;
  levels.forEach(({ reads, writes }, level) => {
    const hottest = Math.max(1, ...reads.map((read, at) => read + writes[at]));
    const across = width / reads.length;
    reads.forEach((read, cell) =>
      paint(
        context, colours, read, writes[cell], hottest,
        cell * across + GAP / 2, level * down + GAP / 2, across - GAP, down - GAP,
        colours.line,
      ),
    );
  });
}
