// The position of each place of a memory in the drawing: trees as trees, partitions next to each other, the rest in rows.

import { columnsOf, layNetwork } from "./network.js";

const SIZES = [30, 26, 22, 18, 15, 13, 11, 9, 7, 5, 4, 3];
/** The maximum height of a bucket of a tree, and of a part that is drawn in rows. */
const BUCKET_HEIGHT = 96;
const ROWS_HEIGHT = 230;
const LABEL_HEIGHT = 20;
/** A partition: its minimum width, the space to the next one, the room for the names of its levels, its maximum height. */
const PARTITION = { width: 150, gap: 18, names: 44, height: 250 };

/** A tree of a position map: the width of a leaf, the minimum width, the space to the next one. */
const MAP = { leaf: 40, least: 110, gap: 24 };

/** The height of a level of the tree that is not in memory. */
const ABSENT_HEIGHT = 15;

/**
 * Returns a cell for each entry of each slot, the outlines of buckets, the edges between them, and the names of parts. If
 * processors share the memory, it also returns the network, and the top of the tree that is not in memory.
 */
export function layOut(areas, width, top, processors = 0) {
  const drawing = { cells: [], boxes: [], edges: [], absent: [], labels: [], height: top };
  if (processors > 1) {
    drawing.network = layNetwork(processors, width, top + 4);
    drawing.height = drawing.network.bottom;
  }
  const maps = groupsBy("map", areas);
  if (maps.length > 0) layMaps(drawing, maps.reverse(), width);
  layAreas(drawing, areas.filter(({ partition, map }) => !isNumber(partition) && !isNumber(map)), { left: 0, width });
  const partitions = groupsBy("partition", areas);
  if (partitions.length > 0) layPartitions(drawing, partitions, width);
  drawing.height += 8;
  return drawing;
}

const isNumber = (value) => typeof value === "number";

/** Groups the areas that have a number of a kind by that number. */
const groupsBy = (kind, areas) => Object.values(Object.groupBy(areas.filter((area) => isNumber(area[kind])), (area) => area[kind]));

function layAreas(drawing, areas, column) {
  let above = null;
  for (const area of areas) {
    if (area.shape === "tree") above = layTree(drawing, area, column, above);
    else layRows(drawing, area, column.width);
  }
}

/** Places the trees of a position map, the smallest first, next to each other in rows. Larger trees are wider. */
function layMaps(drawing, maps, width) {
  const { gap, leaf, least } = MAP;
  const needs = (areas) => Math.min(width, Math.max(least, areas.at(-1).buckets * leaf));
  const rows = [[]];
  let taken = 0;
  for (const areas of maps) {
    if (taken > 0 && taken + needs(areas) > width) {
      rows.push([]);
      taken = 0;
    }
    rows.at(-1).push(areas);
    taken += needs(areas) + gap;
  }
  for (const row of rows) {
    const room = width - gap * (row.length - 1);
    const needed = row.reduce((sum, areas) => sum + needs(areas), 0);
    const top = drawing.height + LABEL_HEIGHT;
    let [left, bottom] = [0, top];
    for (const areas of row) {
      const column = { left, width: (room * needs(areas)) / needed };
      drawing.labels.push({ text: `position map ${areas[0].map}`, x: left, y: top - 4 });
      drawing.height = top;
      layAreas(drawing, areas, column);
      bottom = Math.max(bottom, drawing.height);
      left += column.width + gap;
    }
    drawing.height = bottom + 8;
  }
  drawing.height += LABEL_HEIGHT;
  drawing.labels.push({ text: "blocks", x: 0, y: drawing.height - 4 });
}

/** Places partitions next to each other, in as many rows as they need. */
function layPartitions(drawing, partitions, width) {
  const { gap } = PARTITION;
  const most = Math.max(1, Math.floor((width + gap) / (PARTITION.width + gap)));
  const columns = evenly(partitions.length, Math.min(partitions.length, most));
  const each = (width + gap) / columns - gap;
  const lay = partitions[0][0].shape === "tree" ? layAreas : layLevels;
  drawing.height += 6;
  if (drawing.network && columns === partitions.length) layAbsent(drawing, columnsOf(columns, width));
  for (let first = 0; first < partitions.length; first += columns) {
    const top = drawing.height + LABEL_HEIGHT;
    let bottom = top;
    for (const [nth, areas] of partitions.slice(first, first + columns).entries()) {
      const column = { left: nth * (each + gap), width: each };
      drawing.labels.push({ text: `${areas[0].part} ${areas[0].partition}`, x: column.left, y: top - 6 });
      drawing.height = top;
      lay(drawing, areas, column);
      bottom = Math.max(bottom, drawing.height);
    }
    drawing.height = bottom + 10;
  }
}

/** Places the levels of the tree that join the subtrees of processors, from the lowest up. */
function layAbsent(drawing, columns) {
  const levels = Math.log2(columns.length);
  const y = drawing.height + levels * ABSENT_HEIGHT + 2;
  let below = columns.map(({ left, width }) => ({ x: left + width / 2, y }));
  for (const { x, y } of below) drawing.absent.push([x, y, x, y + 2 * LABEL_HEIGHT - 2]);
  for (let level = levels; level > 0; level--) {
    const y = drawing.height + (level - 1) * ABSENT_HEIGHT + 6;
    const above = below.filter((_, nth) => nth % 2 === 0).map(({ x }, nth) => ({ x: (x + below[2 * nth + 1].x) / 2, y }));
    for (const [nth, { x, y }] of below.entries()) drawing.absent.push([above[nth >> 1].x, above[nth >> 1].y, x, y]);
    below = above;
  }
  const text = levels > 1 ? `levels 0 to ${levels - 1}: with the processors` : "level 0: with the processors";
  drawing.labels.push({ text, x: 0, y: drawing.height + 4, isFaint: true });
  drawing.height += levels * ABSENT_HEIGHT;
}

/** Places the levels of a partition, with buckets of one block: rows of a power of two after their names. */
function layLevels(drawing, areas, { left, width }) {
  const room = width - PARTITION.names;
  const inRowOf = (size) => 2 ** Math.floor(Math.log2(Math.max(1, room / size)));
  const heightOf = (area, size) => Math.max(12, Math.ceil(area.buckets / inRowOf(size)) * size) + 4;
  const height = (size) => areas.reduce((sum, area) => sum + heightOf(area, size), 0);
  const size = SIZES.find((size) => height(size) <= PARTITION.height) ?? SIZES.at(-1);
  const inRow = inRowOf(size);
  for (const area of areas) {
    const top = drawing.height;
    drawing.labels.push({ text: area.name, x: left, y: top + Math.max(9, size / 2 + 4), isFaint: true });
    for (let bucket = 0; bucket < area.buckets; bucket++) {
      const [x, y] = [left + PARTITION.names + (bucket % inRow) * size, top + Math.floor(bucket / inRow) * size];
      drawing.boxes.push({ x, y, width: size, height: size, area });
      put(drawing, area, bucket, 0, { x, y, width: size, height: size });
    }
    drawing.height = top + heightOf(area, size);
  }
}

/** Places one level of a tree: each bucket is in the middle of the leaves below it. */
function layTree(drawing, area, { left, width }, above) {
  const entries = area.slots * area.entries;
  const span = width / area.buckets;
  const room = Math.max(1, span - Math.min(12, span * 0.18));
  const fits = (size) => {
    const columns = Math.min(entries, Math.floor(room / size));
    return columns > 0 && Math.ceil(entries / columns) * size <= BUCKET_HEIGHT;
  };
  const size = SIZES.find(fits);
  const columns = size ? evenly(entries, Math.min(entries, Math.floor(room / size))) : 1;
  const [cellWidth, cellHeight] = size ? [size, size] : [Math.min(room, 6), BUCKET_HEIGHT / entries];
  const rows = Math.ceil(entries / columns);
  const top = drawing.height + (above ? Math.min(26, 8 + width / area.buckets) : LABEL_HEIGHT);
  const [boxWidth, boxHeight] = [columns * cellWidth, rows * cellHeight];
  const level = { first: drawing.boxes.length, buckets: area.buckets };
  drawing.labels.push({ text: area.name, x: left, y: top - 4, isFaint: true });
  for (let bucket = 0; bucket < area.buckets; bucket++) {
    const x = left + (bucket + 0.5) * span - boxWidth / 2;
    drawing.boxes.push({ x, y: top, width: boxWidth, height: boxHeight, area });
    if (above) {
      const parent = drawing.boxes[above.first + Math.floor((bucket * above.buckets) / area.buckets)];
      drawing.edges.push([parent.x + parent.width / 2, parent.y + parent.height, x + boxWidth / 2, top]);
    }
    for (let entry = 0; entry < entries; entry++) {
      const cell = { x: x + (entry % columns) * cellWidth, y: top + Math.floor(entry / columns) * cellHeight };
      put(drawing, area, bucket, entry, { ...cell, width: cellWidth, height: cellHeight });
    }
  }
  drawing.height = top + boxHeight;
  return level;
}

/** Returns the fewest columns that need no further row. */
const evenly = (entries, most) => Math.ceil(entries / Math.ceil(entries / most));

/** Places buckets in sequence, in as many rows as they need. */
function layRows(drawing, area, width) {
  const entries = area.slots * area.entries;
  const gap = entries > 1 ? 4 : 0;
  const perRow = (size) => Math.floor((width + gap) / (entries * size + gap));
  const fits = (size) => perRow(size) > 0 && Math.ceil(area.buckets / perRow(size)) * (size + gap) <= ROWS_HEIGHT;
  const size = SIZES.find(fits) ?? Math.max(1, Math.min(4, width / entries));
  const inRow = Math.max(1, perRow(size));
  const top = drawing.height + LABEL_HEIGHT + 6;
  const shape = area.slots > 1 ? `${area.buckets} × ${area.slots}` : String(area.buckets);
  drawing.labels.push({ text: `${area.name} (${shape})`, x: 0, y: top - 6 });
  for (let bucket = 0; bucket < area.buckets; bucket++) {
    const x = (bucket % inRow) * (entries * size + gap);
    const y = top + Math.floor(bucket / inRow) * (size + gap);
    drawing.boxes.push({ x, y, width: entries * size, height: size, area });
    for (let entry = 0; entry < entries; entry++) {
      put(drawing, area, bucket, entry, { x: x + entry * size, y, width: size, height: size });
    }
  }
  drawing.height = top + Math.ceil(area.buckets / inRow) * (size + gap) + 4;
}

function put(drawing, area, bucket, entry, place) {
  const slot = area.firstSlot + bucket * area.slots + Math.floor(entry / area.entries);
  drawing.cells[area.firstEntry + bucket * area.slots * area.entries + entry] = { ...place, slot, area, bucket };
}

/** Places cells of the trusted side in rows from a height. Returns them and the height after them. */
export function layStrip(count, width, top, sizes = [30, 26, 22, 18, 13, 9]) {
  const rowsOf = (size) => Math.ceil(count / Math.max(1, Math.floor(width / size)));
  const size = sizes.find((size) => rowsOf(size) * size <= 64) ?? sizes.at(-1);
  const inRow = Math.max(1, Math.floor(width / size));
  const place = (_, nth) => ({
    x: (nth % inRow) * size,
    y: top + Math.floor(nth / inRow) * size,
    width: size,
    height: size,
  });
  return { cells: Array.from({ length: count }, place), height: top + Math.max(1, rowsOf(size)) * size };
}
