// The colours and fonts of still pictures, as properties of the page's element: the style sheet has none of its own.

import type { Scene } from "./scene";

export function painted(root: HTMLElement, { colours, fonts }: Scene): void {
  for (const [name, [light, dark]] of Object.entries(colours)) {
    root.style.setProperty(`--${name}`, `light-dark(${light}, ${dark})`);
  }
  const last = fonts.indexOf("sans-serif");
  const families = [...fonts.slice(0, last), "plausible narrow", ...fonts.slice(last)];
  root.style.setProperty("--fonts", families.map((font) => (font.includes(" ") ? `"${font}"` : font)).join(", "));
}
