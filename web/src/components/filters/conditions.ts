/** Filters as the form writes them: conditions that must all hold, in the language of filters. */

export const COMPARISONS = ["=", "!=", "contains", ">", ">=", "<", "<=", "set", "unset"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export interface Condition {
  field: string;
  comparison: Comparison;
  /** Empty where a field is set or is not. */
  value: string;
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const RESERVED = new Set(["and", "or", "not", "in", "is", "contains"]);
const CONDITION =
  /\s*(?:(?<plain>[\p{L}_][\p{L}\p{N}_]*)|'(?<quoted>(?:[^']|'')*)')\s*(?:is\s+(?<not>not\s+)?set|(?<comparison>!=|>=|<=|=|>|<|contains)\s*'(?<value>(?:[^']|'')*)')\s*/iuy;
const AND = /and\b/iy;

export function needsValue(comparison: Comparison): boolean {
  return comparison !== "set" && comparison !== "unset";
}

/** Return whether a condition says anything: it has a field, and a value where it needs one. */
export function isComplete({ field, comparison, value }: Condition): boolean {
  return field !== "" && (!needsValue(comparison) || value.trim() !== "");
}

/** Return conditions as the text of a filter; those that are not complete are left out. */
export function writeFilter(conditions: readonly Condition[]): string {
  return conditions.filter(isComplete).map(writeCondition).join(" and ");
}

function writeCondition({ field, comparison, value }: Condition): string {
  const isPlain = PLAIN.test(field) && !RESERVED.has(field.toLowerCase());
  const name = isPlain ? field : quote(field);
  if (comparison === "set") return `${name} is set`;
  if (comparison === "unset") return `${name} is not set`;
  return `${name} ${comparison} ${quote(value.trim())}`;
}

/** Return the conditions of a filter, or null for one that the form cannot show. */
export function readFilter(text: string): Condition[] | null {
  if (text.trim() === "") return [];
  const found: Condition[] = [];
  for (let at = 0; ; ) {
    CONDITION.lastIndex = at;
    const groups = CONDITION.exec(text)?.groups;
    if (!groups) return null;
    at = CONDITION.lastIndex;
    const { plain, quoted = "", not, comparison, value = "" } = groups;
    if (plain && RESERVED.has(plain.toLowerCase())) return null;
    const presence = not ? "unset" : "set";
    found.push({
      field: plain ?? unquote(quoted),
      comparison: (comparison?.toLowerCase() ?? presence) as Comparison,
      value: unquote(value),
    });
    if (at >= text.length) return found;
    AND.lastIndex = at;
    if (!AND.test(text)) return null;
    at = AND.lastIndex;
  }
}

/** Return a text as a value of the language of filters. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function unquote(text: string): string {
  return text.replaceAll("''", "'");
}
