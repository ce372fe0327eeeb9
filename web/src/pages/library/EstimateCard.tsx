import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Choice } from "../../components/Fields";
import { Card, Facts } from "../../components/Section";
import { count, decimal, t } from "../../i18n";
import { call, useCall } from "../../state/calls";
import { addJob, unread } from "../../state/jobs";
import type { WorkspaceDetails } from "../../state/workspaces";
import { underway } from "./sending";

const TIER_NOTES = {
  lean: "Rules read the files. The model decides doubtful merges and writes answers.",
  full: "The model reads every passage and writes the reports. Best graph, highest cost.",
  none: "Only rules read the files. Indexing costs no tokens.",
} as const;

const TIER_NAMES = { lean: "when needed", full: "reads everything", none: "off" } as const;

const TIERS = ["lean", "full", "none"] as const;
type Tier = (typeof TIERS)[number];

interface Range {
  low: number;
  high: number;
}

/** The server's estimate of a run: tokens as ranges, money as text or none. */
interface Estimate {
  chunks: number;
  /** Passages that the model was asked before: they cost nothing more. */
  kept: number;
  /** Passages that were asked for the estimate, and what that took. */
  sampled: number;
  spent: { input_tokens: number; output_tokens: number };
  run: {
    calls: number;
    input_tokens: Range;
    output_tokens: Range;
    money: { low: string; high: string } | null;
  };
}

/** Before a model reads: what it would read, what that costs, and a ceiling. Then: start. */
export function EstimateCard({ details }: { details: WorkspaceDetails }) {
  const [tier, setTier] = useState<Tier>(TIERS.find((known) => known === details.tier) ?? "lean");
  const [budget, setBudget] = useState("");
  const files = details.model && underway.value === null ? unread.value : 0;
  const asked = { body: { tier, budget: "", retry: false } };
  const estimate = useCall("post", "/estimate", files > 0 ? asked : null, { turn: files });
  if (files === 0) return null;
  const start = async () => {
    const body = { tier, budget: budget.trim(), retry: false };
    addJob(await call("post", "/index", { body }));
  };
  return (
    <Card
      class="stack tight"
      title={t("{n} {n:file is|files are} ready. Index them?", { n: files })}
      side={<span class="tag">{details.model}</span>}
    >
      <Choice
        legend={t("Language model")}
        options={TIERS}
        say={(name) => t(TIER_NAMES[name])}
        chosen={tier}
        onChange={setTier}
      />
      <p class="small muted">{t(TIER_NOTES[tier])}</p>
      <Pending of={estimate} lines={2} label={t("Estimating with a few passages")} />
      {estimate.data && <Figures estimate={estimate.data as unknown as Estimate} />}
      <div class="row wrap end">
        {tier !== "none" && (
          <label class="row ceiling">
            <span class="small muted nowrap">{t("Budget")}</span>
            <input
              type="text"
              placeholder={t("200k or 2 EUR")}
              value={budget}
              maxLength={40}
              onInput={(event) => setBudget(event.currentTarget.value)}
            />
          </label>
        )}
        <Button label={t("Start")} kind="main" icon="play" onClick={start} />
      </div>
    </Card>
  );
}

function Figures({ estimate }: { estimate: Estimate }) {
  const { run, spent, chunks, kept, sampled } = estimate;
  const range = ({ low, high }: Range) =>
    low === high ? count(high) : `${count(low)} – ${count(high)}`;
  const cost = run.money
    ? `${decimal(Number(run.money.low), 2)} – ${decimal(Number(run.money.high), 2)}`
    : t("unknown price");
  return (
    <>
      {run.calls === 0 ? (
        <p>
          {chunks > 0
            ? t("The model has already read all passages ({n}), so indexing costs nothing more.", {
                n: chunks,
              })
            : t("Indexing does not use the model, so it costs nothing.")}
        </p>
      ) : (
        <Facts
          of={[
            [t("Passages"), count(chunks)],
            [t("Calls"), count(run.calls)],
            [t("Tokens in"), range(run.input_tokens)],
            [t("Tokens out"), range(run.output_tokens)],
            [t("Estimated cost"), cost],
          ]}
        />
      )}
      {sampled > 0 && (
        <p class="small muted">
          {t(
            "The model read {n} {n:passage|passages} for this estimate, using {tokens} tokens. The replies are cached.",
            { n: sampled, tokens: spent.input_tokens + spent.output_tokens },
          )}
        </p>
      )}
      {run.calls > 0 && kept > 0 && (
        <p class="small muted">
          {t("{n} {n:passage was|passages were} read before and cost nothing more.", { n: kept })}
        </p>
      )}
    </>
  );
}
