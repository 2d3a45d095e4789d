// The requests of the program and the provider's view, with time from left to right.

import { coloursOf } from "./colours.js";
import { prepare } from "./surface.js";

const HEIGHT = 150;
/** The maximum of columns: accesses for the program, store operations for the provider. */
const MAX_COLUMNS = 240;

/** Draws the blocks of the last accesses, with the first block at the top. */
export function drawAsked(canvas, run, capacity) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  const asked = (run.asked ?? []).slice(0, run.rounds).filter((round) => !round.idle).slice(-MAX_COLUMNS);
  const place = ({ block, write }) => ({ place: block, colour: write === undefined ? colours.read : colours.write });
  draw(context, canvas, asked.map(({ accesses }) => accesses.filter(Boolean).map(place)), capacity);
}

/** Draws the slots of the last operations, with the first slot at the top. */
export function drawSeen(canvas, run) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  // Messages touch no slot.
  const seen = run.touches.operations.filter(({ slots }) => slots.length > 0).slice(-MAX_COLUMNS);
  const places = ({ writes, slots }) => slots.map((place) => ({ place, colour: writes ? colours.write : colours.read }));
  const columns = seen.map(places);
  draw(context, canvas, columns, run.touches.reads.length);
}

function draw(context, canvas, columns, places) {
  const { width } = canvas.getBoundingClientRect();
  const [across, down] = [width / Math.max(60, columns.length), HEIGHT / places];
  for (const [nth, touched] of columns.entries()) {
    for (let first = 0, behind = 1; first < touched.length; first = behind++) {
      const { place, colour } = touched[first];
      // Adjacent slots become one rectangle.
      const goesOn = () => touched[behind]?.place === place + behind - first && touched[behind].colour === colour;
      while (goesOn()) behind += 1;
      const height = Math.max(1.2, (behind - first) * down - 0.3);
      context.fillStyle = colour;
      context.fillRect(nth * across, place * down, Math.max(1, across - 0.5), height);
    }
  }
}
