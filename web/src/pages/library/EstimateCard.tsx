import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Choice } from "../../components/Fields";
import { count, decimal, t } from "../../i18n";
import { call, useCall } from "../../state/calls";
import { addJob } from "../../state/jobs";
import type { WorkspaceDetails } from "../../state/workspaces";
import { useUnread } from "./listing";
import { underway } from "./sending";

const TIERS = ["lean", "full", "none"] as const;
type Tier = (typeof TIERS)[number];

interface Range {
  low: number;
  expected: number;
  high: number;
}

/** The server's estimate of a run: tokens as ranges, money as text or none. */
interface Estimate {
  documents: number;
  chunks: number;
  text_tokens: number;
  /** Passages that the model was asked before: they cost nothing more. */
  kept: number;
  /** Passages that were asked for the estimate, and what that took. */
  sampled: number;
  spent: { input_tokens: number; output_tokens: number };
  run: {
    calls: number;
    input_tokens: Range;
    output_tokens: Range;
    money: { low: string; expected: string; high: string } | null;
    without_price: string[];
  };
}

/** Before a model reads: what it would read, what that costs, and a ceiling. Then: start. */
export function EstimateCard({ details }: { details: WorkspaceDetails }) {
  const words = t.value.library.estimate;
  const [tier, setTier] = useState<Tier>(TIERS.find((known) => known === details.tier) ?? "lean");
  const [budget, setBudget] = useState("");
  const unread = useUnread();
  const files = details.model && underway.value === null ? unread : 0;
  const asked = { body: { tier, budget: "", retry: false } };
  const estimate = useCall("post", "/estimate", files > 0 ? asked : null, { turn: files });
  if (files === 0) return null;
  const start = async () => {
    const body = { tier, budget: budget.trim(), retry: false };
    addJob(await call("post", "/index", { body }));
  };
  return (
    <section class="card stack tight" aria-labelledby="estimate-title">
      <div class="card-head">
        <h2 id="estimate-title">{words.title(files)}</h2>
        <span class="tag">{details.model}</span>
      </div>
      <Choice
        legend={words.tier}
        options={TIERS}
        say={(name) => words.tiers[name]}
        chosen={tier}
        onChange={setTier}
      />
      <p class="small muted">{words.tierNotes[tier]}</p>
      <Pending of={estimate} lines={2} label={words.asking} />
      {estimate.data && <Figures estimate={estimate.data as unknown as Estimate} />}
      <div class="row wrap end">
        {tier !== "none" && (
          <label class="row ceiling">
            <span class="small muted">{words.ceiling}</span>
            <input
              type="text"
              placeholder={words.ceilingHint}
              value={budget}
              maxLength={40}
              onInput={(event) => setBudget(event.currentTarget.value)}
            />
          </label>
        )}
        <Button label={words.start} kind="main" icon="play" onClick={start} />
      </div>
    </section>
  );
}

function Figures({ estimate }: { estimate: Estimate }) {
  const words = t.value.library.estimate;
  const { run, spent, chunks, kept, sampled } = estimate;
  const range = ({ low, high }: Range) =>
    low === high ? count(high) : `${count(low)} – ${count(high)}`;
  const cost = run.money
    ? `${decimal(Number(run.money.low), 2)} – ${decimal(Number(run.money.high), 2)}`
    : words.noPrice;
  return (
    <>
      {run.calls === 0 ? (
        <p>{chunks > 0 ? words.allKnown(chunks) : words.nothing}</p>
      ) : (
        <dl class="figures">
          {[
            [t.value.library.files.columns.chunks, count(chunks)],
            [words.calls, count(run.calls)],
            [words.tokensIn, range(run.input_tokens)],
            [words.tokensOut, range(run.output_tokens)],
            [words.cost, cost],
          ].map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="number">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {sampled > 0 && (
        <p class="small muted">
          {words.sampled(sampled, count(spent.input_tokens + spent.output_tokens))}
        </p>
      )}
      {run.calls > 0 && kept > 0 && <p class="small muted">{words.kept(kept)}</p>}
    </>
  );
}
