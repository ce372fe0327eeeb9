import { useMemo } from "preact/hooks";
import { t } from "../../i18n";
import { instead, linkTo } from "../../state/location";
import { type Details, type Section, sectionsAt } from "./document";

interface OutlineProps {
  details: Details;
  /** The place that is read, in code points. */
  current: number;
  isOpen?: boolean;
  /** Goes to a place; else links lead to the page of the document. */
  onGo?: (place: number) => void;
}

/** The headings and pages of a document; each leads to its place in the text. */
export function Outline({ details, current, isOpen = false, onGo }: OutlineProps) {
  const tree = useMemo(() => Map.groupBy(details.sections, ({ parent }) => parent), [details]);
  const root = details.sections.find(({ level }) => level === 0);
  const top = (root && tree.get(root.id)) ?? [];
  const pages = details.pages.length > 1 ? details.pages : [];
  if (top.length === 0 && pages.length === 0) return null;
  const page = pages.findLastIndex(({ start }) => start <= current);
  const linkOf = (start: number, end: number, isCurrent: boolean) => ({
    href: linkTo("documents", { doc: details.id, start, end }),
    ...(isCurrent ? { "aria-current": "location" as const } : {}),
    ...(onGo && { onClick: (event: MouseEvent) => instead(event, () => onGo(start)) }),
  });
  const deepest = sectionsAt(details.sections, current).at(-1);
  const branch = (sections: readonly Section[]) =>
    sections.length > 0 && (
      <ul>
        {sections.map((section) => (
          <li key={section.id}>
            <a {...linkOf(section.span[0] ?? 0, section.span[1] ?? 0, section === deepest)}>
              {section.title}
            </a>
            {branch(tree.get(section.id) ?? [])}
          </li>
        ))}
      </ul>
    );
  return (
    <details class={`structure ${onGo ? "" : "beside"}`} open={isOpen}>
      <summary>{t("Structure")}</summary>
      <nav aria-label={t("Structure")}>
        {branch(top)}
        {pages.length > 0 && (
          <ul class="row wrap pages">
            {pages.map(({ label, start }, index) => (
              <li key={start}>
                {/* Of a page only the beginning is marked. */}
                <a
                  {...linkOf(
                    start,
                    Math.min(pages[index + 1]?.start ?? start + 1, start + 40),
                    index === page,
                  )}
                >
                  {t("p. {label}", { label })}
                </a>
              </li>
            ))}
          </ul>
        )}
      </nav>
    </details>
  );
}
