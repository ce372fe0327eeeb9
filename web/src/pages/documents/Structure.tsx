import type { Details, Section } from "../../components/reader/document";
import { t } from "../../i18n";
import { linkTo } from "../../state/location";

/** The headings of a document as a tree; each leads to its place in the text. */
export function Structure({ details }: { details: Details }) {
  const words = t.value.documents;
  const within = new Map<string | null, Section[]>();
  for (const section of details.sections) {
    within.set(section.parent, [...(within.get(section.parent) ?? []), section]);
  }
  const root = details.sections.find(({ level }) => level === 0);
  const top = (root && within.get(root.id)) ?? [];
  const pages = details.pages.length > 1 ? details.pages : [];
  if (top.length === 0 && pages.length === 0) return null;
  return (
    <details class="structure" open>
      <summary>{words.structure}</summary>
      <nav aria-label={words.structure}>
        <Branch sections={top} within={within} id={details.id} />
        {pages.length > 0 && (
          <ul class="pages">
            {pages.map(({ label, start }, index) => (
              <li key={start}>
                <a href={placeOf(details.id, start, pages[index + 1]?.start ?? start + 1, true)}>
                  {t.value.reader.page(label)}
                </a>
              </li>
            ))}
          </ul>
        )}
      </nav>
    </details>
  );
}

interface BranchProps {
  sections: readonly Section[];
  within: ReadonlyMap<string | null, Section[]>;
  id: string;
}

function Branch({ sections, within, id }: BranchProps) {
  if (sections.length === 0) return null;
  return (
    <ul>
      {sections.map((section) => (
        <li key={section.id}>
          <a href={placeOf(id, section.span[0] ?? 0, section.span[1] ?? 0)}>{section.title}</a>
          <Branch sections={within.get(section.id) ?? []} within={within} id={id} />
        </li>
      ))}
    </ul>
  );
}

/** Return the address of a part of the document; of a page only the beginning is marked. */
function placeOf(id: string, start: number, end: number, onlyBegins = false): string {
  return linkTo("documents", { doc: id, start, end: onlyBegins ? Math.min(end, start + 40) : end });
}
