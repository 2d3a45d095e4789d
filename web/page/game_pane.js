// The pane of the game: four views to compare, one to guess, and the score.

import { CANDIDATES, drawSight, guess, playRound } from "./game.js";
import { randomFrom } from "./random.js";

const LETTERS = "ABCD";
const ROUNDS_OF_MACHINE = 200;
const element = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)} %`;

/** The pane. */
export class GamePane {
  #engine;
  #schemes;
  #round = null;
  #isOpen = true;
  #seed = 0;
  /** The rounds and hits of the player and of the machine, for each scheme. */
  #scores = new Map();

  constructor(engine, schemes) {
    this.#engine = engine;
    this.#schemes = schemes;
    element("guesses").replaceChildren(...[...LETTERS].map((letter, nth) => this.#button(letter, nth)));
    element("sights").replaceChildren(...[...LETTERS].map((letter) => figure(letter)));
    element("again").addEventListener("click", () => this.next());
    element("machine").addEventListener("click", () => this.#haveMachineGuess());
    element("game-scheme").replaceChildren(...schemes.map(({ name, title }) => new Option(title, name)));
    element("game-scheme").addEventListener("change", () => this.next());
  }

  get #entry() {
    return this.#schemes.find(({ name }) => name === element("game-scheme").value);
  }

  /** Chooses the scheme, and the seed of its rounds. */
  choose(scheme, seed) {
    element("game-scheme").value = scheme;
    this.#seed = (seed * 7919) % 2 ** 31;
    this.next();
  }

  /** Starts a new round. */
  next() {
    this.#seed = (this.#seed + 1) % 2 ** 31;
    this.#round = playRound(this.#engine, this.#entry, this.#seed);
    this.#isOpen = true;
    const [done, seen, does] = this.#round.writes
      ? ["written", "which places changed", "writes"]
      : ["read", "this", "reads"];
    element("verdict").textContent =
      `The owner has ${done} four blocks, one after the other, and you saw ${seen}. Now it ${does} one of them again.`;
    this.draw();
    this.#show();
  }

  draw() {
    if (!this.#round || element("game").hidden) return;
    const canvases = element("sights").querySelectorAll("canvas");
    canvases.forEach((canvas, nth) => drawSight(canvas, this.#round, this.#round.shown[nth]));
    drawSight(element("sight"), this.#round, this.#round.seen);
  }

  /** Takes the player's guess. */
  guess(nth) {
    if (!this.#isOpen || !this.#round || nth >= CANDIDATES) return;
    this.#isOpen = false;
    const isRight = nth === this.#round.answer;
    const score = this.#score(this.#entry.name);
    score.rounds += 1;
    score.hits += Number(isRight);
    element("verdict").textContent = isRight
      ? `Right: it was ${LETTERS[nth]}.`
      : `Wrong: it was ${LETTERS[this.#round.answer]}, not ${LETTERS[nth]}.`;
    this.#show();
    element("again").focus();
  }

  #haveMachineGuess() {
    const score = this.#score(this.#entry.name);
    for (let nth = 0; nth < ROUNDS_OF_MACHINE; nth++) {
      this.#seed = (this.#seed + 1) % 2 ** 31;
      const round = playRound(this.#engine, this.#entry, this.#seed);
      score.machineRounds += 1;
      score.machineHits += Number(guess(round, randomFrom(this.#seed)) === round.answer);
    }
    const share = score.machineHits / score.machineRounds;
    element("verdict").textContent =
      `The machine compares places. Against ${this.#entry.title} it was right in ${score.machineHits} of ` +
      `${score.machineRounds} rounds: ${percent(share)}. Chance alone gives ${percent(1 / CANDIDATES)}.`;
    this.#show();
  }

  #score(name) {
    if (!this.#scores.has(name)) this.#scores.set(name, { rounds: 0, hits: 0, machineRounds: 0, machineHits: 0 });
    return this.#scores.get(name);
  }

  #show() {
    element("guesses").querySelectorAll("button").forEach((button, nth) => {
      button.disabled = !this.#isOpen;
      button.dataset.right = String(!this.#isOpen && nth === this.#round.answer);
    });
    const rows = [...this.#scores].map(([name, score]) => {
      const { title } = this.#schemes.find((scheme) => scheme.name === name);
      const [own, machine] = [of(score.hits, score.rounds), of(score.machineHits, score.machineRounds)];
      return row([title, own, machine, percent(1 / CANDIDATES)]);
    });
    element("scores").replaceChildren(...rows);
    element("score-table").hidden = rows.length === 0;
  }

  #button(letter, nth) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: letter });
    button.setAttribute("aria-keyshortcuts", letter);
    button.addEventListener("click", () => this.guess(nth));
    return button;
  }
}

const of = (hits, rounds) => (rounds === 0 ? "–" : `${hits} of ${rounds} (${percent(hits / rounds)})`);

function row(texts) {
  const cell = (textContent, nth) => Object.assign(document.createElement(nth ? "td" : "th"), { textContent });
  const cells = texts.map(cell);
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
}

function figure(letter) {
  const figure = document.createElement("figure");
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `What the provider saw of the access to ${letter}`);
  figure.append(Object.assign(document.createElement("figcaption"), { textContent: letter }), canvas);
  return figure;
}
