// The network between processors: a node for each, and an arc for each message.

/** The height of a band without arcs, and the maximum rise of an arc for each column that it spans. */
const BAND = { height: 66, rise: 26, most: 40, node: 24, gap: 18 };

/** Returns the columns of the processors. */
export function columnsOf(processors, width, gap = BAND.gap) {
  const each = (width + gap) / processors - gap;
  return Array.from({ length: processors }, (_, nth) => ({ left: nth * (each + gap), width: each }));
}

const riseOf = (columns) => Math.min(BAND.most, BAND.rise * Math.sqrt(columns));

/** Returns the nodes from a height, and the height after them. */
export function layNetwork(processors, width, top) {
  const rise = riseOf(processors - 1);
  const y = top + rise + BAND.height / 2;
  const nodes = columnsOf(processors, width).map(({ left, width }) => ({ x: left + width / 2, y }));
  return { nodes, top, bottom: y + BAND.height / 2 + rise - 12 };
}

/** Describes messages by length. */
export function lengthsOf(messages) {
  const counts = new Map();
  for (const { bytes } of messages) counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  const words = ([bytes, count]) => `${count} message${count === 1 ? "" : "s"} of ${bytes} bytes`;
  return [...counts].map(words).join(", ");
}

/** Draws the nodes, the current messages, and on request the number of messages of each pair. */
export function drawNetwork({ context, colours, run, view }, { nodes, top, title }, operation, isNow) {
  const messages = operation?.messages ?? [];
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colours.quiet;
  context.fillText(title ?? (messages.length > 0 ? `network: ${lengthsOf(messages)}` : "network"), 0, top + 12);
  if (view.heat) {
    const most = Math.max(1, ...run.touches.links.values());
    for (const [link, count] of run.touches.links) {
      const [from, to] = link.split(" ").map(Number);
      arc(context, nodes[from], nodes[to], { colour: colours.alarm, alpha: 0.15 + (0.7 * count) / most, thickness: 3 });
    }
  }
  for (const { from, to, bytes } of messages) {
    const thickness = 1 + Math.log2(bytes) / 3;
    arc(context, nodes[from], nodes[to], { colour: colours.write, alpha: isNow ? 1 : 0.35, thickness });
  }
  for (const [nth, { x, y }] of nodes.entries()) node({ context, colours }, x, y, String(nth));
}

function node({ context, colours }, x, y, text) {
  const [width, height] = [BAND.node, BAND.node - 4];
  context.fillStyle = colours.trusted;
  context.fillRect(x - width / 2, y - height / 2, width, height);
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x - width / 2, y - height / 2, width, height);
  context.fillStyle = colours.ink;
  context.textAlign = "center";
  context.font = "600 12px system-ui, sans-serif";
  context.fillText(text, x, y + 4);
  context.textAlign = "start";
}

/** Draws an arc with a head: above the nodes to the right, below them to the left. */
function arc(context, from, to, { colour, alpha, thickness }) {
  const up = from.x < to.x ? -1 : 1;
  const column = Math.abs(to.x - from.x);
  const edge = up * (BAND.node / 2 - 1);
  const over = from.y + edge + 2 * up * riseOf(Math.max(1, column / 120));
  const [start, end] = [from.y + edge, to.y + edge];
  context.globalAlpha = alpha;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = thickness;
  context.beginPath();
  context.moveTo(from.x - 4 * up, start);
  context.quadraticCurveTo((from.x + to.x) / 2, over, to.x + 4 * up, end + 3 * up);
  context.stroke();
  const tip = to.x + 4 * up;
  context.beginPath();
  context.moveTo(tip, end);
  context.lineTo(tip - 4, end + 8 * up);
  context.lineTo(tip + 5, end + 7 * up);
  context.fill();
  context.globalAlpha = 1;
}
