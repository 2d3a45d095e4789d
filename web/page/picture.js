// Draws the memory as the text of an SVG file.

import { NAMES, coloursOf } from "./colours.js";

const BLOCK = "block-";

/** The colours of both themes by name. A picture uses the names where a canvas uses the colours. */
export class Palette {
  #shown;
  #other;

  /** The picture has the theme of the element. */
  constructor(element) {
    this.#shown = coloursOf(element);
    this.#other = coloursOf(element, this.#shown.theme === "dark" ? "light" : "dark");
    this.names = Object.fromEntries(NAMES.map((name) => [name, name]));
    this.names.ofBlock = (block) => `${BLOCK}${block}`;
  }

  /** Returns the colour of a name. */
  shown = (name) => colourIn(this.#shown, name);

  /** Returns the style with the colours of the other theme, for readers who use it. `uses` has pairs of property and name. */
  style(uses) {
    const rule = ([property, name]) => `.${classOf(property, name)}{${property}:${colourIn(this.#other, name)}}`;
    return `<style>@media (prefers-color-scheme: ${this.#other.theme}){${uses.map(rule).join("")}}</style>`;
  }
}

const colourIn = (colours, name) => (name.startsWith(BLOCK) ? colours.ofBlock(Number(name.slice(BLOCK.length))) : hex(colours[name]));
const classOf = (property, name) => (property === "fill" ? name : `${name}-${property}`);
const hex = (colour) => "#" + colour.match(/\d+/g).slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("");

const round = (number) => String(Math.round(number * 10) / 10);
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Records the canvas calls of the page as SVG. */
export class Picture {
  #size;
  #palette;
  #parts = [];
  /** The colours that were used. The keys are pairs of property and name. */
  #uses = new Map();
  #at = [0, 0];
  #path = "";
  #dash = "";
  /** Consecutive rectangles with the same paint become one path. */
  #open = null;
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  textAlign = "start";

  constructor(width, height, palette) {
    this.#size = `${round(width)} ${round(height)}`;
    this.#palette = palette;
    this.#parts.push(`<rect width="100%" height="100%" ${this.#paint("fill", "ground")}/>`);
  }

  translate(x, y) {
    this.#at = [this.#at[0] + x, this.#at[1] + y];
  }

  fillRect(x, y, width, height) {
    this.#rectangle(`${this.#fill()}${this.#alpha()}`, x, y, width, height);
  }

  strokeRect(x, y, width, height) {
    this.#rectangle(`fill="none" ${this.#stroke()}`, x, y, width, height);
  }

  beginPath() {
    this.#path = "";
  }

  moveTo(x, y) {
    this.#path += `M${this.#point(x, y)}`;
  }

  lineTo(x, y) {
    this.#path += `L${this.#point(x, y)}`;
  }

  quadraticCurveTo(overX, overY, x, y) {
    this.#path += `Q${this.#point(overX, overY)} ${this.#point(x, y)}`;
  }

  stroke() {
    this.#close();
    this.#parts.push(`<path fill="none" ${this.#stroke()} d="${this.#path}"/>`);
  }

  fill() {
    this.#close();
    this.#parts.push(`<path ${this.#fill()}${this.#alpha()} d="${this.#path}"/>`);
  }

  setLineDash(lengths) {
    this.#dash = lengths.length > 0 ? ` stroke-dasharray="${lengths.join(" ")}"` : "";
  }

  fillText(text, x, y) {
    this.#close();
    const [, weight, size] = /^(\d+ )?([\d.]+)px/.exec(this.font);
    const bold = weight ? ` font-weight="${weight.trim()}"` : "";
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    const [left, top] = [round(x + this.#at[0]), round(y + this.#at[1])];
    const paint = `${this.#fill()}${this.#alpha()}`;
    this.#parts.push(`<text x="${left}" y="${top}" font-size="${round(Number(size))}"${bold}${anchor} ${paint}>${escape(text)}</text>`);
  }

  /** Returns the text of the picture, with a title for readers who do not see it. */
  text(title) {
    this.#close();
    const [width, height] = this.#size.split(" ");
    const head = `xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${this.#size}"`;
    const label = `role="img" aria-label="${escape(title)}"`;
    return `<svg ${head} font-family="system-ui, sans-serif" ${label}>\n${this.#palette.style([...this.#uses.values()])}\n${this.#parts.join("\n")}\n</svg>\n`;
  }

  #point = (x, y) => `${round(x + this.#at[0])} ${round(y + this.#at[1])}`;
  #alpha = () => (this.globalAlpha < 1 ? ` opacity="${Math.round(100 * this.globalAlpha) / 100}"` : "");
  #fill = () => this.#paint("fill", this.fillStyle);
  #stroke = () => `${this.#paint("stroke", this.strokeStyle)} stroke-width="${round(this.lineWidth)}"${this.#dash}${this.#alpha()}`;

  #paint(property, name) {
    const named = classOf(property, name);
    this.#uses.set(named, [property, name]);
    return `class="${named}" ${property}="${this.#palette.shown(name)}"`;
  }

  #rectangle(paint, x, y, width, height) {
    if (this.#open?.paint !== paint) {
      this.#close();
      this.#open = { paint, path: "" };
    }
    this.#open.path += `M${this.#point(x, y)}h${round(width)}v${round(height)}h${round(-width)}z`;
  }

  #close() {
    if (this.#open) this.#parts.push(`<path ${this.#open.paint} d="${this.#open.path}"/>`);
    this.#open = null;
  }
}
