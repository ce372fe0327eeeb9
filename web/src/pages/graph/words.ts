/** Words of the graph that come from the index: relations and types that Knotwork itself names. */

import { t } from "../../i18n";

/** Return the label of a relation; those that Knotwork itself names have words in each language. */
export function sayRelation(name: string): string {
  return t.value.graph.relationNames[name] ?? name;
}

/** Return whether a relation has no direction: its ends co-occur, and no more is known. */
export function isMutual(name: string): boolean {
  return name === "co-occurs with";
}

/** Return the label of a type of entities. */
export function sayType(type: string): string {
  return t.value.graph.typeNames[type] ?? type;
}
