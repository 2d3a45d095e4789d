// Cells of a heat map: the colour mixes those of reads and writes, and is stronger the more touches there were.

/** Clears a canvas, gives it the screen's resolution, and returns its context with the theme's colours. */
export function prepare(canvas) {
  const scale = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return { context, width, height, colours: colours(canvas) };
}

function colours(canvas) {
  const probe = document.createElement("span");
  canvas.parentElement.append(probe);
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  };
  const found = { read: read("--read"), write: read("--write"), line: read("--line") };
  probe.remove();
  return found;
}

/** Paints one cell. An untouched cell gets the colour `empty`, if it is given. */
export function paint(context, colours, reads, writes, hottest, x, y, width, height, empty) {
  const touches = reads + writes;
  if (touches === 0 && !empty) return;
  const share = touches === 0 ? 0 : writes / touches;
  const mixed = touches === 0 ? empty : colours.read.map((part, at) => part + (colours.write[at] - part) * share);
  // Few touches must be visible next to many, so the scale is logarithmic.
  const strength = touches === 0 ? 0.5 : 0.25 + (0.75 * Math.log1p(touches)) / Math.log1p(hottest);
  context.fillStyle = `rgb(${mixed.map(Math.round).join(" ")} / ${strength})`;
  context.fillRect(x, y, Math.max(1, width), Math.max(1, height));
}
