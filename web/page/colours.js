// The colours of the page's themes, light and dark.

export const NAMES = [
  "ground", "line", "ink", "quiet", "accent", "alarm", "cold", "read", "write", "sealed", "trusted",
];

/** Returns the colour of a block. The colours of neighbours differ. */
function blockColour(block, isDark) {
  const hue = Math.round((block * 1375.08) % 3600) / 10;
  return isDark ? `hsl(${hue} 45% 38%)` : `hsl(${hue} 62% 80%)`;
}

const isDark = (colour) => colour.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) < 382;

/** Returns the colours of a theme, “light” or “dark”. The default is the theme of the element. */
export function coloursOf(element, theme = "") {
  const probe = document.createElement("span");
  probe.style.colorScheme = theme;
  element.parentElement.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  };
  const found = Object.fromEntries(NAMES.map(read));
  probe.remove();
  const hasDarkGround = isDark(found.ground);
  return { ...found, theme: hasDarkGround ? "dark" : "light", ofBlock: (block) => blockColour(block, hasDarkGround) };
}
