import { useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { type Contents, nameOf, type Read } from "../../components/reader/document";
import { t } from "../../i18n";
import { go, linkTo } from "../../state/location";
import { Entries } from "./Entries";

/** Documents in the drawing that this one links to, and as many that link to it. */
const DRAWN = 8;

interface Linked {
  id: string;
  title: string;
  /** Of the first link. */
  words: string;
  href: string;
}

/** The documents that this one links to, and those that link to it, as lists and as a drawing. */
export function Links({ read, contents }: { read: Read; contents: Contents }) {
  const [isDrawn, setDrawn] = useState(false);
  const { id, title, uri } = read.details;
  const to = linkedFrom(read);
  const from = contents.linked_from.map(({ span: [start, end], ...linking }) => {
    return { ...linking, href: linkTo("documents", { doc: linking.id, start, end }) };
  });
  if (to.length + from.length === 0) return null;
  const drawn = [
    ...to.slice(0, DRAWN).map((other) => ({ ...other, source: id, target: other.id })),
    ...from.slice(0, DRAWN).map((other) => ({ ...other, source: other.id, target: id })),
  ];
  const left = to.length + from.length - drawn.length;
  const others = new Map(drawn.map((other) => [other.id, other]));
  const open = (linked: Linked | undefined) => linked && go(linked.href);
  const lists: [string, Linked[]][] = [
    [t("Links to"), to],
    [t("Linked from"), from],
  ];
  return (
    <>
      {lists.map(([title, linked]) => (
        <Entries
          key={title}
          title={title}
          items={linked}
          keyOf={(other) => other.id}
          row={(other) => (
            <a href={other.href} title={other.words}>
              {other.title}
            </a>
          )}
        />
      ))}
      <Button label={t("Draw the links")} icon="graph" onClick={() => setDrawn(true)} />
      {isDrawn && (
        <Dialog title={t("Draw the links")} onClose={() => setDrawn(false)}>
          <SmallGraph
            ariaLabel={t("Draw the links")}
            nodes={[
              { id, label: title || nameOf(uri), isStart: true },
              ...[...others.values()].map((other) => ({ id: other.id, label: other.title })),
            ]}
            edges={drawn.map(({ source, target, words: label }) => {
              return { id: `${source} ${target}`, source, target, label };
            })}
            onNode={(node) => open(others.get(node))}
            onEdge={(edge) => open(drawn.find((one) => edge === `${one.source} ${one.target}`))}
          />
          {left > 0 && <p class="small muted">{t("{n} more are not drawn.", { n: left })}</p>}
        </Dialog>
      )}
    </>
  );
}

/** Return the documents that a document links to, in its order, without itself. */
function linkedFrom({ details, offsets }: Read): Linked[] {
  const found = new Map<string, Linked>();
  for (const { document: id, title, span, start } of details.links) {
    if (id === details.id || found.has(id)) continue;
    const words = offsets.slice(span[0] ?? 0, span[1] ?? 0);
    found.set(id, { id, title, words, href: linkTo("documents", { doc: id, start }) });
  }
  return [...found.values()];
}
