import { useEffect, useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import {
  type Fact,
  factMark,
  factPlace,
  forgetFact,
  memoryTurn,
  noteChange,
  type Offer,
  type StatedFact,
  sayFact,
  settleOffer,
} from "./facts";
import type { Run } from "./runs";

/** What was made of the statements of a message: facts that were stored, or an offer to do so. */
export function Heard({ run }: { run: Run }) {
  const reply = run.reply.value;
  const { told, offer } = reply ?? {};
  useEffect(() => {
    if (told) noteChange(run.question.workspace);
  }, [told]);
  const words = t.value.ask.memory;
  return (
    <>
      {told && (
        <section class="card heard" aria-label={words.heard}>
          {told.learned.length > 0 && <p>{words.remembered}</p>}
          <Facts facts={told.learned} />
          {told.ended.map((fact) => (
            <p key={fact.id} class="small muted">
              {words.ended(sayFact(fact))}
            </p>
          ))}
          {told.note && <p class="small muted">{told.note}</p>}
        </section>
      )}
      {offer && <OfferCard key={offer.id} here={run.question.workspace} offer={offer} />}
    </>
  );
}

function OfferCard({ here, offer }: { here: string; offer: Offer }) {
  const words = t.value.ask.memory;
  const [state, setState] = useState<"open" | "stored" | "refused">("open");
  const [error, setError] = useState<unknown>(null);
  const settle = async (stores: boolean) => {
    try {
      await settleOffer(here, offer, stores);
      setState(stores ? "stored" : "refused");
    } catch (caught) {
      setError(caught);
    }
  };
  if (state === "refused") return null;
  return (
    <section class="card heard" aria-label={words.offer}>
      <p>{state === "open" ? words.offer : words.remembered}</p>
      <Facts facts={offer.facts} />
      {offer.ended.map((fact) => (
        <p key={fact.id} class="small muted">
          {words.ended(sayFact(fact))}
        </p>
      ))}
      {error !== null && <ErrorState error={error} />}
      {state === "open" && (
        <span class="row">
          <Button kind="main" onClick={() => settle(true)}>
            {words.remember}
          </Button>
          <Button kind="quiet" onClick={() => settle(false)}>
            {words.notNow}
          </Button>
        </span>
      )}
    </section>
  );
}

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <ul class="facts">
      {facts.map((fact) => (
        <li key={fact.id}>
          {sayFact(fact)} <Times since={fact.since} until={fact.until} />
        </li>
      ))}
    </ul>
  );
}

function Times({ since, until }: { since: string | null; until: string | null }) {
  const words = t.value.ask.memory;
  const times = [since && words.since(dayOf(since)), until && words.until(dayOf(until))];
  const shown = times.filter(Boolean).join(", ");
  return shown ? <span class="small faint">{shown}</span> : null;
}

/** A fact that is told without a time holds from the minute it was told: its day is enough. */
const dayOf = (time: string) => time.split("T")[0] ?? time;

/** The remembered facts that an answer cites. */
export function CitedFacts({ facts }: { facts: readonly StatedFact[] }) {
  const words = t.value.ask.memory;
  if (facts.length === 0) return null;
  return (
    <section class="stack tight" aria-label={words.cited}>
      <h2>{words.cited}</h2>
      <ol class="facts">
        {facts.map((fact) => (
          <li key={fact.number} id={factPlace(fact)} tabIndex={-1}>
            <span class="chip fact">{factMark(fact)}</span> {fact.text}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** All facts of the key; each can be forgotten. */
export function MemoryPanel({ workspace }: { workspace: string }) {
  const words = t.value.ask.memory;
  const [error, setError] = useState<unknown>(null);
  const loaded = useLoaded(`${workspace} ${memoryTurn.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/memory", {
        params: { path: { workspace } },
        signal,
      }),
    ),
  );
  const facts = loaded.data?.facts ?? [];
  if (facts.length === 0) return null;
  return (
    <section class="history" aria-labelledby="memory-title">
      <h2 id="memory-title">{words.facts}</h2>
      <p class="small faint">{words.note}</p>
      {error !== null && <ErrorState error={error} />}
      <ul>
        {facts.map((fact) => (
          <li key={fact.id}>
            <span class="history-text">
              {sayFact(fact)} <Times since={fact.since} until={fact.until} />
            </span>
            <IconButton
              icon="close"
              label={words.forget(sayFact(fact))}
              onClick={() => forgetFact(workspace, fact).catch(setError)}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
