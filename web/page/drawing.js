// Draws the memory on a canvas, as its owner knows it or as the provider sees it.

import { layOut, layStrip } from "./layout.js";
import { columnsOf, drawNetwork } from "./network.js";
import { leavesOf } from "./words.js";

const MARGIN = 10;
/** The minimum size of text in pixels. Smaller text is omitted. */
const MIN_FONT = 7;
/** The minimum width of a processor's column for its text. */
const WORDS_WIDTH = 76;

/** The minimum width of a column for the whole name of a map's stash. */
const NAME_WIDTH = 118;

/** Returns whether a current access is to a block, or to a block whose leaf a PosMap block has. */
function wantedIn(run) {
  const wanted = (run.round?.accesses ?? []).flatMap((access) => (access ? [access.block] : []));
  return (block, covers) => wanted.some((one) => Math.floor(one / covers) === block);
}

/** Returns the number of data blocks that a block of a part of memory covers: many for a PosMap block. */
const coversOf = (run, { map }) => run.maps[map - 1]?.covers ?? 1;

/**
 * Draws a run on a surface. `view` is { side: "owner" | "provider", label: "nothing" | "block" | "number", heat }. `state` is
 * the owner's state, or null. Returns the cells, in which a pointer is searched for.
 */
export function drawMemory(surface, run, state, view) {
  const width = surface.width - 2 * MARGIN;
  const knows = view.side === "owner" && state !== null;
  const trusted = knows ? layTrusted(state, run, width) : { height: 34, parts: [] };
  const drawing = layOut(run.areas, width, trusted.height + 26, run.processors);
  const context = surface.begin(drawing.height + MARGIN);
  const { colours } = surface;
  const brush = { context, colours, run, state: knows ? state : null, view, isWanted: wantedIn(run) };
  context.translate(MARGIN, 4);
  drawBoundary(brush, trusted, width);
  for (const part of trusted.parts) drawPart(brush, part);
  drawEdges(brush, drawing);
  drawLabels(brush, drawing);
  drawCells(brush, drawing);
  drawTouched(brush, drawing);
  return drawing.cells.map((cell) => ({ ...cell, x: cell.x + MARGIN, y: cell.y + 4 }));
}

/** Draws the stashes and the position map above the boundary. */
function layTrusted(state, { stash, processors, round, maps }, width) {
  const parts = [];
  let height = 18;
  const when = state.isOutdated ? ", from before this work" : "";
  if (processors > 1) height = layProcessors(parts, state, { processors, round }, width);
  else if (stash) {
    const strip = layStrip(state.stash.length, width, height);
    parts.push({ title: `${stash}${when}`, y: height - 5, cells: strip.cells, items: state.stash, name: "stash" });
    height = strip.height;
  }
  if (maps.length > 0) height = layMapStashes(parts, state, maps, width, height + 22);
  if (state.positions.length > 0) {
    if (stash) height += 22;
    const map = layStrip(state.positions.length, width, height);
    const covers = maps.at(-1)?.covers ?? 1;
    const items = state.positions.map((place, block) => ({ block, place, covers }));
    const whose = maps.length > 0 ? `PosMap block of map ${maps.length}` : "block";
    const title = `position map: the ${state.place} of each ${whose}${when}`;
    parts.push({ title, y: height - 5, cells: map.cells, items, name: "map" });
    height = map.height;
  }
  return { parts, height: parts.length > 0 ? height + 8 : 34 };
}

/** Draws the stashes of the maps next to each other, that of the smallest map first. Returns the height after them. */
function layMapStashes(parts, { maps: { stashes } }, maps, width, top) {
  let height = top;
  for (const [nth, column] of columnsOf(maps.length, width).entries()) {
    const map = maps.length - nth;
    const { covers } = maps[map - 1];
    const items = stashes[map - 1].map((held) => ({ ...held, number: leavesOf(held.leaves), covers }));
    const strip = layStrip(items.length, column.width, top);
    const cells = strip.cells.map((cell) => ({ ...cell, x: cell.x + column.left }));
    const isNarrow = column.width < NAME_WIDTH;
    const title = isNarrow ? `map ${map}` : `stash of map ${map}`;
    parts.push({ title, isNarrow, x: column.left, y: top - 5, cells, items, name: "stash" });
    height = Math.max(height, strip.height);
  }
  return height;
}

function requestOf({ block, write }, isNarrow) {
  if (isNarrow) return `${write === undefined ? "" : "←"}${block}`;
  return write === undefined ? `read ${block}` : `${block} ← ${write}`;
}

/** Draws the stash of each processor below its request. Returns the height after them. */
function layProcessors(parts, state, { processors, round }, width) {
  let height = 0;
  for (const [nth, column] of columnsOf(processors, width).entries()) {
    const items = state.stash.filter(({ processor }) => processor === nth);
    const strip = layStrip(items.length, column.width, 38);
    const cells = strip.cells.map((cell) => ({ ...cell, x: cell.x + column.left }));
    const access = round?.accesses?.[nth];
    const isNarrow = column.width < WORDS_WIDTH;
    const asks = access ? requestOf(access, isNarrow) : "–";
    const title = isNarrow ? String(nth) : `processor ${nth}`;
    parts.push({ title, asks, x: column.left, y: 13, cells, items, name: "stash" });
    height = Math.max(height, strip.height);
  }
  return height;
}

function drawBoundary({ context, colours, view }, { height, parts }, width) {
  const isBare = parts.length === 0;
  context.fillStyle = colours.trusted;
  context.fillRect(-MARGIN, -4, width + 2 * MARGIN, height + 4);
  context.strokeStyle = colours.accent;
  context.setLineDash([6, 4]);
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(-MARGIN, height);
  context.lineTo(width + MARGIN, height);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colours.quiet;
  context.font = "12px system-ui, sans-serif";
  if (view.side === "provider") context.fillText("trusted side: the provider sees nothing of it", 0, 18);
  else if (isBare) context.fillText("trusted side: nothing is kept", 0, 18);
  context.fillText("untrusted memory", 0, height + 16);
}

function drawPart(brush, { title, asks, isNarrow, x = 0, y, cells, items, name }) {
  const { context, colours } = brush;
  context.fillStyle = colours.quiet;
  context.font = "12px system-ui, sans-serif";
  if (asks === undefined) context.fillText(items.length === 0 && !isNarrow ? `${title}: empty` : `${title} (${items.length})`, x, y);
  else {
    context.fillText(title, x, y);
    context.fillStyle = colours.ink;
    context.fillText(asks, x, y + 16);
  }
  for (const [nth, cell] of cells.entries()) {
    const item = items[nth];
    const isMapped = name === "stash" || item.place !== null;
    const covers = item.covers ?? 1;
    context.fillStyle = isMapped ? colours.ofBlock(item.block * covers) : colours.cold;
    context.fillRect(cell.x + 0.5, cell.y + 0.5, cell.width - 1.5, cell.height - 1.5);
    const below = name === "map" ? item.place : item.leaf;
    label(brush, cell, item.block, item.number, below ?? null);
    if (brush.isWanted(item.block, covers)) outline(brush, cell, colours.accent, 2);
  }
}

/** Writes the block or its number into a cell, and a place below it if there is room. */
function label({ context, colours, view }, { x, y, width, height }, block, number, below) {
  if (view.label === "nothing") return;
  const text = String(view.label === "number" && number !== undefined ? number : block);
  const size = Math.min(13, Math.floor((width - 2) / (0.62 * text.length)), height - 2);
  if (size < MIN_FONT) return;
  context.fillStyle = colours.ink;
  context.textAlign = "center";
  context.font = `600 ${size}px system-ui, sans-serif`;
  const hasRoom = below !== null && height >= 26;
  context.fillText(text, x + width / 2, y + height / 2 + (hasRoom ? -1 : size * 0.36));
  if (hasRoom) {
    context.globalAlpha *= 0.75;
    context.font = "9px system-ui, sans-serif";
    context.fillText(String(below), x + width / 2, y + height - 4);
  }
  context.globalAlpha = 1;
  context.textAlign = "start";
}

function outline({ context }, { x, y, width, height }, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x, y, width, height);
}

function drawEdges({ context, colours }, { edges, absent }) {
  context.lineWidth = 1;
  for (const [lines, dash, colour] of [[edges, [], colours.line], [absent, [3, 3], colours.quiet]]) {
    if (lines.length === 0) continue;
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    for (const [x, y, toX, toY] of lines) {
      context.moveTo(x, y);
      context.lineTo(toX, toY);
    }
    context.stroke();
  }
  context.setLineDash([]);
}

function drawLabels({ context, colours }, { labels }) {
  for (const { text, x, y, isFaint } of labels) {
    context.font = `${isFaint ? 10 : 12}px system-ui, sans-serif`;
    context.fillStyle = colours.quiet;
    context.fillText(text, x, y);
  }
}

function drawCells(brush, { cells, boxes }) {
  const { context, colours, run, state, view, isWanted } = brush;
  const isIn = (slots) => new Set(slots ?? []);
  const now = isIn(run.lastStep.operation?.slots);
  const [old, stale, used, asked] = [state?.old, state?.stale, state?.used, state?.asked].map(isIn);
  const written = state ? isIn(state.written) : null;
  const hottest = run.touches.hottest();
  const outlined = [];
  for (const [entry, cell] of cells.entries()) {
    const [x, y] = [cell.x + 0.5, cell.y + 0.5];
    const [width, height] = [Math.max(0.7, cell.width - 1), Math.max(0.7, cell.height - 1)];
    const isWritten = written ? written.has(cell.slot) : run.touches.writes[cell.slot] > 0;
    const level = cell.area.level ?? null;
    const isEmpty = level !== null && state && !state.levels[level] && !asked.has(cell.slot);
    // The slots of an empty level have no valid content.
    context.globalAlpha = isEmpty ? 0.3 : 1;
    context.fillStyle = isWritten ? colours.sealed : colours.cold;
    context.fillRect(x, y, width, height);
    const block = state?.blocks[entry] ?? -1;
    const isGone = isEmpty || (stale.has(cell.slot) && !now.has(cell.slot));
    if (block >= 0 && !isGone && view.label !== "nothing") {
      context.globalAlpha = old.has(entry) ? 0.35 : 1;
      const covers = coversOf(run, cell.area);
      context.fillStyle = colours.ofBlock(block * covers);
      context.fillRect(x, y, width, height);
      const leaves = state.maps.leaves[entry];
      label(brush, cell, block, leaves ? leavesOf(leaves) : state.numbers[entry], null);
      if (isWanted(block, covers) && !old.has(entry)) outlined.push(cell);
    }
    context.globalAlpha = 1;
    if (used.has(cell.slot)) cross(brush, cell);
    if (view.heat) heat(brush, cell, run.touches, hottest);
  }
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  for (const box of boxes) if (box.width > 6) context.strokeRect(box.x, box.y, box.width, box.height);
  // Drawn last, because neighbours would cover them.
  for (const cell of outlined) outline(brush, cell, colours.accent, 2);
}

/** Marks a slot that was read and must not be read again before it is written. */
function cross({ context, colours }, { x, y, width, height }) {
  if (width < 5) return;
  context.strokeStyle = colours.quiet;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x + 2, y + height - 3);
  context.lineTo(x + width - 3, y + 2);
  context.stroke();
}

/** Shades a place by its number of touches, on a logarithmic scale. */
function heat({ context, colours }, cell, { reads, writes }, hottest) {
  const touched = reads[cell.slot] + writes[cell.slot];
  if (touched === 0) return;
  context.fillStyle = colours.alarm;
  context.globalAlpha = 0.12 + (0.78 * Math.log1p(touched)) / Math.log1p(hottest);
  context.fillRect(cell.x, cell.y, cell.width, cell.height);
  context.globalAlpha = 1;
}

/** Draws the current operation, or the last one in a paler colour. */
function drawTouched(brush, { cells, network }) {
  const isNow = Boolean(brush.run.lastStep.operation);
  const operation = brush.run.lastStep.operation ?? brush.run.touches.operations.at(-1);
  if (network) drawNetwork(brush, network, operation, isNow);
  if (!operation) return;
  const { context, colours, run } = brush;
  const colour = operation.writes ? colours.write : colours.read;
  const touched = new Set(operation.slots);
  for (const cell of cells) {
    if (!touched.has(cell.slot)) continue;
    context.fillStyle = colour;
    context.globalAlpha = (brush.state ? 0.22 : 0.75) * (isNow ? 1 : 0.3);
    context.fillRect(cell.x, cell.y, cell.width, cell.height);
    context.globalAlpha = isNow ? 1 : 0.4;
    const inner = { x: cell.x + 0.5, y: cell.y + 0.5, width: cell.width - 1, height: cell.height - 1 };
    if (cell.width >= 4) outline(brush, inner, colour, cell.area.entries > 1 ? 1.5 : 2);
  }
  context.globalAlpha = 1;
}
