// The surface of a drawing: a canvas, or the text of an SVG picture. Both take the same calls.

import { coloursOf } from "./colours.js";
import { Palette, Picture } from "./picture.js";

/** Clears a canvas, and gives it the screen's resolution and a height in CSS pixels. */
export function prepare(canvas, height) {
  const scale = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  const width = canvas.getBoundingClientRect().width;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return context;
}

/** Returns the surface of a canvas. */
export const onCanvas = (canvas) => ({
  width: canvas.getBoundingClientRect().width,
  colours: coloursOf(canvas),
  begin: (height) => prepare(canvas, height),
});

/** Returns a surface for a picture of a width, with the colours of the element's theme and of the other theme. */
export function asPicture(element, width) {
  const palette = new Palette(element);
  const surface = { width, colours: palette.names, begin: (height) => (surface.picture = new Picture(width, height, palette)) };
  return surface;
}
