import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
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

interface CardProps {
  title: ComponentChildren;
  /** Beside the title, at the end of its line. */
  side?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

/** A part of a page in a frame, named by its title. */
export function Card({ title, side, class: kind = "", children }: CardProps) {
  const id = useId();
  return (
    <section class={`card ${kind}`} aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {side}
      </div>
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

/** A button below a list that is not whole: so many are shown, of how many. */
export function More({ of, onMore }: { of: readonly [number, number]; onMore: () => void }) {
  const [shown, total] = of;
  return (
    <Button kind="link" class="fold small" onClick={onMore}>
      {t("Show more")} ({t("{shown} of {total}", { shown, total })})
    </Button>
  );
}

/** Return the first items of a list, and a button that shows more of them where there are more. */
export function useFirst<Item>(items: readonly Item[], first: number, step = items.length) {
  const [limit, setLimit] = useState(first);
  const isWhole = limit >= items.length;
  const more = <More of={[limit, items.length]} onMore={() => setLimit(limit + step)} />;
  return [items.slice(0, limit), isWhole ? null : more] as const;
}
