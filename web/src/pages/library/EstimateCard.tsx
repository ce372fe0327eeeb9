import { useState } from "preact/hooks";
import { api, take } from "../../api/client";
import { Button } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Skeleton } from "../../components/Progress";
import { count, decimal, t } from "../../i18n";
import { addJob } from "../../state/jobs";
import { useLoaded } from "../../state/loading";
import { workspace } from "../../state/location";
import { revision, type WorkspaceDetails } from "../../state/workspaces";
import { countWaiting, setWaiting } from "./sending";

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
  const here = workspace.value;
  const [tier, setTier] = useState<Tier>(TIERS.find((known) => known === details.tier) ?? "lean");
  const [budget, setBudget] = useState("");
  const files = countWaiting(here);
  const estimate = useLoaded(
    files > 0 ? `${here} ${tier} ${files} ${revision.value}` : "",
    async (signal) => {
      const params = { path: { workspace: here } };
      const body = { tier, budget: "", retry: false };
      const call = api.POST("/api/v1/workspaces/{workspace}/estimate", { params, body, signal });
      return (await take(call)) as unknown as Estimate;
    },
  );
  if (files === 0) return null;
  const start = async () => {
    const params = { path: { workspace: here } };
    const body = { tier, budget: budget.trim(), retry: false };
    addJob(await take(api.POST("/api/v1/workspaces/{workspace}/index", { params, body })));
    setWaiting(here, 0);
  };
  return (
    <section class="card estimate" aria-labelledby="estimate-title">
      <div class="card-head">
        <h2 id="estimate-title">{words.title(files)}</h2>
        <span class="tag">{details.model}</span>
      </div>
      <fieldset class="segments">
        <legend>{words.tier}</legend>
        {TIERS.map((name) => (
          <label key={name}>
            <input
              type="radio"
              name="tier"
              checked={tier === name}
              onChange={() => setTier(name)}
            />
            <span>{words.tiers[name]}</span>
          </label>
        ))}
      </fieldset>
      <p class="small muted">{words.tierNotes[tier]}</p>
      {estimate.isLoading && <Skeleton lines={2} label={words.asking} />}
      {estimate.error && <ErrorState error={estimate.error} retry={estimate.reload} />}
      {estimate.data && <Figures estimate={estimate.data} />}
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
        <Button kind="main" icon="play" onClick={start}>
          {words.start}
        </Button>
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
          <Figure name={words.passages} value={count(chunks)} />
          <Figure name={words.calls} value={count(run.calls)} />
          <Figure name={words.tokensIn} value={range(run.input_tokens)} />
          <Figure name={words.tokensOut} value={range(run.output_tokens)} />
          <Figure name={words.cost} value={cost} />
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

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}
