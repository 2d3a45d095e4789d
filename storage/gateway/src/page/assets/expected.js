// The effect of the public schedule on the cells: every access passes the top of the tree, but few pass a given leaf.

/**
 * Returns how often each cell would be touched if the touches of each level were spread evenly over its buckets. The
 * cells are equal shares of all buckets. The levels follow each other, that of the root first.
 */
function expected(levels, cells) {
  const all = levels.reduce((sum, { buckets }) => sum + buckets, 0);
  const touches = new Array(cells).fill(0);
  let first = 0;
  for (const { buckets, reads, writes } of levels) {
    const sum = [...reads, ...writes].reduce((before, some) => before + some, 0);
    const [from, to] = [(first * cells) / all, ((first + buckets) * cells) / all];
    for (let cell = Math.floor(from); cell < Math.min(cells, Math.ceil(to)); cell++) {
      touches[cell] += (sum * (Math.min(to, cell + 1) - Math.max(from, cell))) / (to - from);
    }
    first += buckets;
  }
  return touches;
}

/** Divides a column by its expected touches: all rows are equally bright as long as only the schedule shows. */
export function compareWithExpected({ reads, writes }, levels) {
  const usual = expected(levels, reads.length);
  const mean = usual.reduce((sum, some) => sum + some, 0) / usual.length;
  const scaled = (cells) => cells.map((touches, cell) => (usual[cell] > 0 ? (touches * mean) / usual[cell] : touches));
  return { reads: scaled(reads), writes: scaled(writes) };
}
