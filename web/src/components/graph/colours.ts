/** The colours of a drawing, read from the theme. */

const NAMED: Record<string, number> = {
  PERSON: 3,
  PLACE: 5,
  ORGANIZATION: 2,
  DATE: 8,
  WORK: 6,
  NUMBER: 7,
  EVENT: 4,
  IDENTIFIER: 1,
};
const COUNT = 8;

export interface Palette {
  background: string;
  surface: string;
  text: string;
  muted: string;
  faint: string;
  line: string;
  strongLine: string;
  accent: string;
  data: readonly string[];
  other: string;
  font: string;
}

/** Read the colours that are shown now. */
export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: read("--bg"),
    surface: read("--surface"),
    text: read("--text"),
    muted: read("--muted"),
    faint: read("--faint"),
    line: read("--line"),
    strongLine: read("--line-strong"),
    accent: read("--accent"),
    data: Array.from({ length: COUNT }, (_, index) => read(`--data-${index + 1}`)),
    other: read("--data-other"),
    font: read("--sans") || "sans-serif",
  };
}

/** Return which of the colours a type of entities has, from 1 on; 0 is that of things of no type. */
export function colourNumber(type: string): number {
  if (!type) return 0;
  const known = NAMED[type.toUpperCase()];
  if (known) return known;
  let sum = 0;
  for (const letter of type) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return 1 + (sum % COUNT);
}

/** Return the colour of a type of entities. */
export function colourOf(type: string, palette: Palette): string {
  return palette.data[colourNumber(type) - 1] ?? palette.other;
}

type Rgb = readonly [number, number, number];

function parse(color: string): Rgb {
  const hex = color.replace("#", "");
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const value = Number.parseInt(full, 16);
  if (full.length !== 6 || Number.isNaN(value)) return [128, 128, 128];
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Return a colour between two, as `#rrggbb`: 1 is the first, 0 the second. */
export function mix(color: string, other: string, share: number): string {
  const [one, two] = [parse(color), parse(other)];
  const parts = one.map((part, index) => {
    const value = Math.round(part * share + (two[index] ?? 0) * (1 - share));
    return value.toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/** Return a colour that lets through what is below, as WebGL blends it: multiplied already. */
export function veiled(color: string, alpha: number): string {
  const [red, green, blue] = parse(color).map((part) => Math.round(part * alpha));
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

/** Return a colour that lets through what is below. */
export function faded(color: string, alpha: number): string {
  const [red, green, blue] = parse(color);
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}
