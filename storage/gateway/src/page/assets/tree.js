// The tree of buckets from its root: touched nodes are filled, and the top that is on this machine is hollow.

import { paint, prepare } from "/page/paint.js";

const LARGEST = 11;

/** Draws the touches of the buckets of each level. A node of a wide level stands for several buckets. */
export function drawTree(canvas, levels) {
  const { context, width, height, colours } = prepare(canvas);
  if (levels.length === 0) return;
  const rows = [...keptHere(levels), ...levels.map((level) => ({ ...level, nodes: level.reads.length }))];
  const down = height / rows.length;
  const place = (row, node) => [((node + 0.5) * width) / rows[row].nodes, (row + 0.5) * down];
  context.lineWidth = 1;
  context.strokeStyle = `rgb(${colours.line.join(" ")})`;
  rows.forEach(({ nodes }, row) => {
    for (let node = 0; row > 0 && node < nodes; node++) {
      const above = rows[row - 1].nodes;
      connect(context, place(row - 1, Math.floor((node * above) / nodes)), place(row, node));
    }
  });
  rows.forEach(({ reads, writes, nodes }, row) => {
    const size = Math.max(2, Math.min(LARGEST * 2, (width / nodes) * 0.8, down * 0.6));
    const hottest = Math.max(1, ...(reads ?? []).map((read, at) => read + writes[at]));
    for (let node = 0; node < nodes; node++) {
      const [x, y] = place(row, node);
      const at = [x - size / 2, y - size / 2, size, size];
      if (!reads) {
        context.clearRect(...at);
        context.strokeRect(...at);
        continue;
      }
      context.clearRect(...at);
      paint(context, colours, reads[node], writes[node], hottest, ...at, colours.line);
    }
  });
}

/** Returns the levels above the first one at the provider, up to the single root. An array has none. */
function keptHere(levels) {
  if (levels.length < 2) return [];
  const above = Math.floor(Math.log2(levels[0].buckets));
  return Array.from({ length: above }, (_, level) => ({ nodes: Math.min(2 ** level, levels[0].reads.length) }));
}

function connect(context, from, to) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}
