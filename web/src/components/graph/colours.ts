/** The colours of a drawing, read from the theme. */

export interface Palette {
  background: string;
  text: string;
  muted: string;
  line: string;
  strongLine: string;
  /** The eight colours of communities. */
  data: readonly string[];
  other: string;
  font: string;
}

export const COLOURS = 8;

/** Read the colours that are shown now. */
export function readPalette(): Palette {
  // The theme has two of each: an element tells which one is shown.
  const probe = document.body.appendChild(document.createElement("i"));
  const style = getComputedStyle(probe);
  const read = (name: string) => {
    probe.style.color = `var(--${name})`;
    return style.color;
  };
  const palette = {
    background: read("bg"),
    text: read("text"),
    muted: read("muted"),
    line: read("line"),
    strongLine: read("line-strong"),
    data: Array.from({ length: COLOURS }, (_, index) => read(`data-${index + 1}`)),
    other: read("data-other"),
    font: style.fontFamily,
  };
  probe.remove();
  return palette;
}
