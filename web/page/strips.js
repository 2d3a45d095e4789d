// Time from left to right: the requests of the program, and what the provider saw.

import { coloursOf } from "./colours.js";
import { prepare } from "./surface.js";

const HEIGHT = 150;
/** The maximum of columns: accesses on the one side, operations of the store on the other. */
const MOST = 240;

/** The blocks of the last accesses, the first block at the top. */
export function drawAsked(canvas, run, capacity) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  const asked = (run.asked ?? []).slice(0, run.rounds).filter((round) => !round.idle).slice(-MOST);
  const place = ({ block, write }) => ({ place: block, colour: write === undefined ? colours.read : colours.write });
  draw(context, canvas, asked.map(({ accesses }) => accesses.filter(Boolean).map(place)), capacity);
}

/** The slots of the last operations, the first slot at the top. */
export function drawSeen(canvas, run) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  // Messages touch no slot.
  const seen = run.touches.operations.filter(({ slots }) => slots.length > 0).slice(-MOST);
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
      // Consecutive touched slots are one rectangle.
      const goesOn = () => touched[behind]?.place === place + behind - first && touched[behind].colour === colour;
      while (goesOn()) behind += 1;
      const height = Math.max(1.2, (behind - first) * down - 0.3);
      context.fillStyle = colour;
      context.fillRect(nth * across, place * down, Math.max(1, across - 0.5), height);
    }
  }
}
