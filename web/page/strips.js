// Time from left to right: what the program asked for, and what the provider saw.

import { coloursOf, prepare } from "./drawing.js";

const HEIGHT = 150;
/** The most columns: accesses on the one side, operations of the store on the other. */
const MOST = 240;

/** The blocks of the last accesses, the first block at the top. */
export function drawAsked(canvas, run, capacity) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  const asked = (run.asked ?? []).slice(0, run.accesses).filter((access) => !access.idle).slice(-MOST);
  const colour = (write) => (write === undefined ? colours.read : colours.write);
  const columns = asked.map(({ block, write }) => ({ places: [block], colour: colour(write) }));
  draw(context, canvas, columns, capacity);
}

/** The slots of the last operations, the first slot at the top. */
export function drawSeen(canvas, run) {
  const context = prepare(canvas, HEIGHT);
  const colours = coloursOf(canvas);
  const seen = run.touches.operations.slice(-MOST);
  const columns = seen.map(({ writes, slots }) => ({ places: slots, colour: writes ? colours.write : colours.read }));
  draw(context, canvas, columns, run.touches.reads.length);
}

function draw(context, canvas, columns, places) {
  const { width } = canvas.getBoundingClientRect();
  const [across, down] = [width / Math.max(60, columns.length), HEIGHT / places];
  for (const [nth, { places: touched, colour }] of columns.entries()) {
    context.fillStyle = colour;
    for (const place of touched) {
      context.fillRect(nth * across, place * down, Math.max(1, across - 0.5), Math.max(1.2, down - 0.3));
    }
  }
}
