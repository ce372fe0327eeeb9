/** Words of the graph that come from the index: relations and types that Knotwork itself names. */

import { t } from "../../i18n";

/** Return a relation as it is told; those that Knotwork itself names have words in each language. */
export function sayRelation(name: string): string {
  return t.value.graph.relationNames[name] ?? name;
}

/** Tell whether a relation has no direction: its ends stand together, and no more is known. */
export function isMutual(name: string): boolean {
  return name === "co-occurs with";
}

/** Return a type of entities as it is told. */
export function sayType(type: string): string {
  return t.value.graph.typeNames[type] ?? type;
}
