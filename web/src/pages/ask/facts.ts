/** Facts that were stated in conversations: kept by the server for each key and workspace. */

import { signal } from "@preact/signals";
import { api, type Shapes, take } from "../../api/client";

export type Fact = Shapes["FactShape"];
export type Offer = Shapes["OfferShape"];
/** A fact as an answer cites it. */
export type StatedFact = Shapes["MemoryCitation"];

/** Counts up with every change, so that lists are loaded again. */
export const memoryTurn = signal(0);

export const factMark = ({ number }: StatedFact) => `M${number}`;
export const factPlace = ({ number }: StatedFact) => `fact-${number}`;

/** Return a fact as a sentence without its times. */
export function sayFact({ subject, relation, object }: Fact): string {
  return [subject, relation, object].filter(Boolean).join(" ");
}

/** Store the facts of an offer, or drop it. Throws ApiError. */
export async function settleOffer(here: string, { id }: Offer, stores: boolean): Promise<void> {
  const params = { path: { workspace: here, offer: id } };
  if (stores)
    await take(api.POST("/api/v1/workspaces/{workspace}/memory/offers/{offer}/accept", { params }));
  else
    await take(api.POST("/api/v1/workspaces/{workspace}/memory/offers/{offer}/refuse", { params }));
  memoryTurn.value += 1;
}

/** Delete a fact. Throws ApiError. */
export async function forgetFact(here: string, { id }: Fact): Promise<void> {
  const params = { path: { workspace: here, fact: id } };
  await take(api.DELETE("/api/v1/workspaces/{workspace}/memory/{fact}", { params }));
  memoryTurn.value += 1;
}
