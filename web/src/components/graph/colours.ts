/** The colours of a drawing, read from the theme. */

export interface Palette {
  background: string;
  surface: string;
  text: string;
  muted: string;
  line: string;
  strongLine: string;
  accent: string;
  /** The eight colours of communities. */
  data: readonly string[];
  other: string;
  font: string;
}

export const COLOURS = 8;

/** Read the colours that are shown now. */
export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: read("--bg"),
    surface: read("--surface"),
    text: read("--text"),
    muted: read("--muted"),
    line: read("--line"),
    strongLine: read("--line-strong"),
    accent: read("--accent"),
    data: Array.from({ length: COLOURS }, (_, index) => read(`--data-${index + 1}`)),
    other: read("--data-other"),
    font: read("--sans") || "sans-serif",
  };
}
