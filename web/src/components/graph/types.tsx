/** Types of entities: their words and icons. */

import type { IconNode } from "lucide";
import * as drawings from "lucide";
import { type Texts, textOf } from "../../i18n";
import { Drawn } from "../Icon";

/** The types that have names in every language; others are named as the index has them. */
export const TYPE_NAMES: Texts = {
  PERSON: "Person",
  PLACE: "Place",
  ORGANIZATION: "Organisation",
  EVENT: "Event",
  WORK: "Work",
  PRODUCT: "Product",
  CONCEPT: "Concept",
  DATE: "Date",
  NUMBER: "Number",
  IDENTIFIER: "Identifier",
  FILE: "File",
  URL: "Web address",
  EMAIL: "Email address",
  LOCATION: "Place",
  GPE: "Place",
  MONEY: "Amount",
  TECHNOLOGY: "Technology",
  LAW: "Law",
};

/** The icon of each kind, and the types that belong to it beside one of the same name. */
const KINDS: readonly (readonly [IconNode, string])[] = [
  [drawings.User, "PERSON PEOPLE CHARACTER ROLE"],
  [drawings.MapPin, "PLACE LOCATION GPE CITY COUNTRY REGION ADDRESS"],
  [
    drawings.Building2,
    "ORGANIZATION ORGANISATION COMPANY GROUP INSTITUTION TEAM FACILITY BUILDING",
  ],
  [drawings.Calendar, "DATE TIME YEAR PERIOD"],
  [drawings.Flag, "EVENT MEETING INCIDENT"],
  [drawings.BookOpen, "WORK DOCUMENT BOOK LAW REPORT PUBLICATION"],
  [drawings.Hash, "NUMBER MONEY QUANTITY PERCENT AMOUNT"],
  [drawings.Tag, "IDENTIFIER CODE"],
  [drawings.FileText, "FILE URL EMAIL"],
  [drawings.Box, "PRODUCT DEVICE TECHNOLOGY SOFTWARE TOOL VEHICLE EQUIPMENT"],
  [drawings.Lightbulb, "CONCEPT TOPIC METHOD IDEA THEORY"],
];
const ICONS = new Map(
  KINDS.flatMap(([icon, names]) => names.split(" ").map((name) => [name, icon] as const)),
);

/** Return the drawing of a type of entities; a circle for types that are not known. */
export function iconOf(type: string): IconNode {
  return ICONS.get(type.toUpperCase()) ?? drawings.Circle;
}

/** Return the name of a type of entities, as people write it. */
export function sayType(type: string): string {
  if (!type) return "";
  const known = textOf(TYPE_NAMES, type.toUpperCase(), "");
  if (known) return known;
  const words = type.replaceAll("_", " ").trim();
  return words === words.toUpperCase() && /[A-Z]{4}/.test(words)
    ? words.charAt(0) + words.slice(1).toLowerCase()
    : words;
}

export function TypeIcon({ type, size = 15 }: { type: string; size?: number }) {
  return <Drawn parts={iconOf(type)} size={size} />;
}

const paths = new Map<IconNode, Path2D>();

/** Return the outline of an icon, in a square of 24 units. */
export function outlineOf(icon: IconNode): Path2D {
  const known = paths.get(icon);
  if (known) return known;
  const path = new Path2D();
  for (const [tag, attributes] of icon) {
    const at = (name: string) => Number(attributes[name] ?? 0);
    if (tag === "path") path.addPath(new Path2D(String(attributes.d)));
    else if (tag === "circle") {
      path.moveTo(at("cx") + at("r"), at("cy"));
      path.arc(at("cx"), at("cy"), at("r"), 0, 2 * Math.PI);
    } else if (tag === "rect") {
      path.roundRect(at("x"), at("y"), at("width"), at("height"), at("rx"));
    } else if (tag === "line") {
      path.moveTo(at("x1"), at("y1"));
      path.lineTo(at("x2"), at("y2"));
    }
  }
  paths.set(icon, path);
  return path;
}
