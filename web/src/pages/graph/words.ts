/** Words of the graph that come from the index: relations that Knotwork itself names. */

import { type Texts, textOf } from "../../i18n";

const RELATIONS: Texts = {
  "co-occurs with": "co-occurs with",
  "also known as": "is also known as",
};

/** Return the label of a relation; those that Knotwork itself names have words in each language. */
export function sayRelation(name: string): string {
  return textOf(RELATIONS, name);
}

/** Return whether a relation has no direction: its ends co-occur, and no more is known. */
export function isMutual(name: string): boolean {
  return name === "co-occurs with";
}
