/** What the server says, in the words of the pages.
 *
 * The code of a message is its English template, in which `{}` stands for each parameter: the
 * source of the server has the same templates, and a test compares them with the catalogue. An
 * error without one is said by the code of its class, as `#store_busy`.
 */

import { signal } from "@preact/signals";

/** Translations by template; `{0}` is the first parameter. */
export type Catalogue = Readonly<Record<string, string>>;

interface Template {
  pattern: RegExp;
  translation: string;
}

const templates = signal<readonly Template[]>([]);
let known = new Map<string, string | null>();

/** Use the translations of another language. */
export function setCatalogue(catalogue: Catalogue): void {
  // The more is fixed in a template, the better it fits.
  const literal = (text: string) => text.replaceAll("{}", "").length;
  const sorted = Object.entries(catalogue).toSorted(([a], [b]) => literal(b) - literal(a));
  known = new Map();
  templates.value = sorted.map(([template, translation]) => {
    const parts = template.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return { pattern: new RegExp(`^${parts.join("([^]*?)")}$`), translation };
  });
}

/** Return a message of the server for the page; advice for programs is left out. */
export function say(message: string): string {
  return translate(message) ?? plain(message);
}

/** Return the translation of a message, or null if there is none. */
export function translate(message: string): string | null {
  const all = templates.value;
  if (all.length === 0 || message === "") return null;
  const before = known.get(message);
  if (before !== undefined) return before;
  let found: string | null = null;
  for (const { pattern, translation } of all) {
    const match = pattern.exec(message);
    if (!match) continue;
    found = translation.replace(/\{(\d)\}/g, (_, n: string) => say(match[Number(n) + 1] ?? ""));
    break;
  }
  known.set(message, found);
  return found;
}

const FOR_PROGRAMS = /\b(GET|POST|PUT|PATCH|DELETE) […/]|\/openapi\.json|Content-Type/;

/** Return a text without marks of code, or nothing if it is for programs. */
function plain(message: string): string {
  if (FOR_PROGRAMS.test(message)) return "";
  return message.replace(/`([^`]*)`/g, "“$1”");
}
