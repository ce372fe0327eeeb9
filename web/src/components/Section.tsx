import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { Button } from "./Button";

interface SectionProps {
  title: string;
  /** Beside the title: how many there are. */
  note?: string;
  level?: "h2" | "h3";
  class?: string;
  children: ComponentChildren;
}

/** A part of a panel below its title. */
export function Section({ title, note, level: Head = "h3", class: kind, children }: SectionProps) {
  return (
    <section class={kind}>
      <Head class="panel-title">
        {title}
        {note && <span class="faint number">{note}</span>}
      </Head>
      {children}
    </section>
  );
}

/** Short values, each below its name; those that are empty are left out. */
export function Facts({ of }: { of: readonly (readonly [string, string])[] }) {
  return (
    <dl class="figures">
      {of.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="number">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A button below a list that is not whole. */
export function More({ note = "", onMore }: { note?: string; onMore: () => void }) {
  return (
    <Button kind="link" class="fold small" onClick={onMore}>
      {t("Show more")} {note}
    </Button>
  );
}
