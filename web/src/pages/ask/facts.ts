/** Facts that were stated in conversations: kept by the server for each key and workspace. */

import { signal } from "@preact/signals";
import type { Shapes } from "../../api/client";
import { t } from "../../i18n";
import { call } from "../../state/calls";
import { workspace } from "../../state/location";
import { tell } from "../../state/tabs";
import type { Answer } from "./runs";
import { forgetAnswers } from "./threads";

export type Fact = Shapes["FactShape"];
export type Offer = Shapes["OfferShape"];
/** A fact as an answer cites it. */
export type StatedFact = Shapes["MemoryCitation"];

/** The source of facts that were stated in a conversation. */
const CONVERSATION = "conversation";

/** Counts up with every change, so that lists are loaded again. */
export const memoryTurn = signal(0);

/** Have the lists of facts loaded again, in other tabs too. */
export function noteChange(): void {
  memoryTurn.value += 1;
  tell("changed", workspace.peek());
}

export const factMark = ({ number }: StatedFact) => `M${number}`;

/** Return the period of a fact, or the day of its statement if it was stated without a time. */
export function factTimes({ since, until }: Pick<Fact, "since" | "until">): string {
  const begin =
    since &&
    (isOfStatement(since)
      ? t("stated on {day}", { day: dayOf(since) })
      : t("since {time}", { time: since }));
  return [begin, until && t("until {time}", { time: dayOf(until) })].filter(Boolean).join(", ");
}

/** Return where a fact was stated, and on which day if that is known. */
export function factOrigin({ source, since }: StatedFact): string {
  const place = source === CONVERSATION ? t("From a conversation") : source;
  return [place, isOfStatement(since) && t("stated on {day}", { day: dayOf(since) })]
    .filter(Boolean)
    .join(" · ");
}

/** A fact that was stated without a time holds from the minute of its statement. */
const isOfStatement = (since: string) => since.includes("T");
const dayOf = (time: string) => time.split("T")[0] ?? time;

/** Store the facts of an offer, or drop it. Throws ApiError. */
export async function settleOffer(here: string, { id }: Offer, stores: boolean): Promise<void> {
  const action = stores ? "accept" : "refuse";
  await call("post", `/memory/offers/{offer}/${action}`, { workspace: here, offer: id });
  noteChange();
}

/** Delete a fact, and the answers in threads that cite it. Throws ApiError. */
export async function forgetFact(here: string, fact: Fact): Promise<void> {
  await call("delete", "/memory/{fact}", { workspace: here, fact: fact.id });
  await dropAnswers(here, (answer) => isCited(answer, fact));
}

/** Delete all facts of the key, and the answers in threads that cite one. Throws ApiError. */
export async function forgetFacts(here: string): Promise<void> {
  await call("delete", "/memory", { workspace: here });
  await dropAnswers(here, ({ memory }) => memory.length > 0);
}

async function dropAnswers(here: string, cites: (answer: Answer) => boolean): Promise<void> {
  await forgetAnswers(here, cites);
  noteChange();
}

function isCited({ memory }: Pick<Answer, "memory">, fact: Fact): boolean {
  return memory.some(
    (cited) =>
      cited.subject === fact.subject &&
      cited.relation === fact.relation &&
      cited.object === fact.object,
  );
}
