// Surfaces to draw on: a canvas, or the text of an SVG picture. Both take the same calls.

import { coloursOf } from "./colours.js";
import { Palette, Picture } from "./picture.js";

/** A canvas as sharp as the screen, of a height in CSS pixels, empty. */
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

/** The surface of a canvas. */
export const onCanvas = (canvas) => ({
  width: canvas.getBoundingClientRect().width,
  colours: coloursOf(canvas),
  begin: (height) => prepare(canvas, height),
});

/** A surface that becomes a picture of a given width: it has the colours of an element's theme, and the other theme's as well. */
export function asPicture(element, width) {
  const palette = new Palette(element);
  const surface = { width, colours: palette.names, begin: (height) => (surface.picture = new Picture(width, height, palette)) };
  return surface;
}
