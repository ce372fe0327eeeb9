import { useEffect, useState } from "preact/hooks";
import { Button, IconButton } from "../../components/Button";
import { AskingButton } from "../../components/Dialog";
import { t } from "../../i18n";
import { say } from "../../i18n/say";
import { announce } from "../../state/announcements";
import { useCall } from "../../state/calls";
import { workspace } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import {
  type Fact,
  factMark,
  factTimes,
  forgetFact,
  forgetFacts,
  memoryTurn,
  noteChange,
  type Offer,
  type StatedFact,
  settleOffer,
} from "./facts";
import type { Run } from "./runs";

/** What was made of the statements of a message: facts that were stored, or an offer to do so. */
export function Heard({ run }: { run: Run }) {
  const { told, offer } = run.reply.value ?? {};
  useEffect(() => {
    if (told) noteChange();
  }, [told]);
  return (
    <>
      {told && (
        <section class="card stack" aria-label={t("Statement")}>
          {told.learned.length > 0 && <p>{t("Remembered.")}</p>}
          <Facts facts={told.learned} ended={told.ended} />
          {told.note && <p class="small muted">{say(told.note)}</p>}
        </section>
      )}
      {offer && mayWrite.value && (
        <OfferCard key={offer.id} here={run.question.workspace} offer={offer} />
      )}
    </>
  );
}

function OfferCard({ here, offer }: { here: string; offer: Offer }) {
  const [state, setState] = useState<"open" | "stored" | "refused">("open");
  const settle = async (stores: boolean) => {
    await settleOffer(here, offer, stores);
    setState(stores ? "stored" : "refused");
  };
  if (state === "refused") return null;
  return (
    <section class="card stack" aria-label={t("Remember this?")}>
      <p>{state === "open" ? t("Remember this?") : t("Remembered.")}</p>
      <Facts facts={offer.facts} ended={offer.ended} />
      {state === "open" && (
        <span class="row fold">
          <Button label={t("Remember")} kind="main" onClick={() => settle(true)} />
          <Button label={t("Not now")} kind="quiet" onClick={() => settle(false)} />
        </span>
      )}
    </section>
  );
}

function Facts({ facts, ended }: { facts: readonly Fact[]; ended: readonly Fact[] }) {
  return (
    <ul class="stack tight">
      {facts.map((fact) => (
        <li key={fact.id}>
          {fact.sentence} <Times fact={fact} />
        </li>
      ))}
      {ended.map((fact) => (
        <li key={fact.id} class="small muted">
          {t("No longer valid: {fact}", { fact: fact.sentence })}
        </li>
      ))}
    </ul>
  );
}

function Times({ fact }: { fact: Fact }) {
  const shown = factTimes(fact);
  return shown ? <span class="small faint">{shown}</span> : null;
}

/** The remembered facts that an answer cites. */
export function CitedFacts({ facts }: { facts: readonly StatedFact[] }) {
  if (facts.length === 0) return null;
  return (
    <section class="stack tight" aria-label={t("From remembered facts")}>
      <h3 class="small muted">{t("From remembered facts")}</h3>
      <ol class="stack tight">
        {facts.map((fact) => (
          <li key={fact.number} data-fact={fact.number} tabIndex={-1}>
            <span class="chip fact">{factMark(fact)}</span> {fact.text}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** All facts of the key; one that may write can forget each, or all. */
export function MemoryPanel() {
  const loaded = useCall("get", "/memory", {}, { turn: memoryTurn.value });
  const { facts, total } = loaded.data ?? { facts: [], total: 0 };
  if (facts.length === 0) return null;
  return (
    <section class="history stack tight" aria-labelledby="memory-title">
      <div class="row between">
        <h2 id="memory-title">{t("Remembered facts")}</h2>
        {mayWrite.value && (
          <AskingButton
            label={t("Forget all")}
            kind="quiet"
            title={t("Forget all facts?")}
            onConfirm={() => forgetAll(workspace.value)}
          >
            <p>
              {t(
                "This deletes {n} {n:fact|facts} of your key in this workspace, and the answers in your threads that cite facts. This cannot be undone.",
                { n: total },
              )}
            </p>
          </AskingButton>
        )}
      </div>
      <p class="small faint">
        {t(
          "Stated in conversations, and kept on the server for your key. Answers cite them as M1, M2 …",
        )}
      </p>
      <ul class="ruled">
        {facts.map((fact) => (
          <li key={fact.id} class="row top">
            <span class="grow clamp">
              {fact.sentence} <Times fact={fact} />
            </span>
            {mayWrite.value && (
              <IconButton
                icon="close"
                label={t("Forget: {fact}", { fact: fact.sentence })}
                onClick={() => forgetFact(workspace.value, fact)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

async function forgetAll(here: string): Promise<void> {
  await forgetFacts(here);
  announce(t("All facts were deleted."));
  // The button that had the focus is gone with the list.
  document.getElementById("question")?.focus();
}
