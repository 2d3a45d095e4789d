// What is drawn upon: a canvas, or the text of an SVG picture. Both take the same calls.

const NAMES = [
  "ground", "line", "ink", "quiet", "accent", "alarm", "cold", "read", "write", "sealed", "trusted",
];

/** The colours of the theme. */
export function coloursOf(element) {
  const probe = document.createElement("span");
  element.parentElement.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  };
  const found = Object.fromEntries(NAMES.map(read));
  probe.remove();
  return { ...found, isDark: isDark(found.ground) };
}

const isDark = (colour) => colour.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) < 382;

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

/** A surface that becomes a picture of a width, in the colours of an element's theme. */
export function asPicture(element, width) {
  const colours = coloursOf(element);
  const surface = { width, colours, begin: (height) => (surface.picture = new Picture(width, height, colours.ground)) };
  return surface;
}

const round = (number) => String(Math.round(number * 10) / 10);
const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** The calls of a canvas that the page makes, written down as SVG. */
class Picture {
  #size;
  #parts = [];
  #at = [0, 0];
  #path = "";
  #dash = "";
  /** Rectangles of one paint, one after the other, are one path. */
  #open = null;
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  textAlign = "start";

  constructor(width, height, ground) {
    this.#size = `${round(width)} ${round(height)}`;
    this.#parts.push(`<rect width="100%" height="100%" fill="${ground}"/>`);
  }

  translate(x, y) {
    this.#at = [this.#at[0] + x, this.#at[1] + y];
  }

  fillRect(x, y, width, height) {
    this.#rectangle(`fill="${this.fillStyle}"${this.#alpha()}`, x, y, width, height);
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
    this.#parts.push(`<path fill="${this.fillStyle}"${this.#alpha()} d="${this.#path}"/>`);
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
    const paint = `fill="${this.fillStyle}"${this.#alpha()}`;
    this.#parts.push(`<text x="${left}" y="${top}" font-size="${round(Number(size))}"${bold}${anchor} ${paint}>${escape(text)}</text>`);
  }

  /** The text of the picture, with a title for those who do not see it. */
  text(title) {
    this.#close();
    const [width, height] = this.#size.split(" ");
    const head = `xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${this.#size}"`;
    const label = `role="img" aria-label="${escape(title)}"`;
    return `<svg ${head} font-family="system-ui, sans-serif" ${label}>\n${this.#parts.join("\n")}\n</svg>\n`;
  }

  #point = (x, y) => `${round(x + this.#at[0])} ${round(y + this.#at[1])}`;
  #alpha = () => (this.globalAlpha < 1 ? ` opacity="${Math.round(100 * this.globalAlpha) / 100}"` : "");
  #stroke = () => `stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${this.#dash}${this.#alpha()}`;

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
