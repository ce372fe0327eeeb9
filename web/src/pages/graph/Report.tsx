import { Pending } from "../../components/ErrorState";
import { Icon } from "../../components/Icon";
import { plainText } from "../../components/plain";
import { useFirst } from "../../components/Section";
import { t } from "../../i18n";
import { useCall } from "../../state/calls";
import { asked, linkTo, setQuery } from "../../state/location";
import { readSummary, shortTitle } from "./summary";
import { type Community, Rating } from "./Tree";

const MEMBERS = 24;
const EXTRACTIVE = "extractive";

/** The report of a community: what it is about, statement by statement, each with its passages. */
export function Report({ id }: { id: string }) {
  const asked = { community: id };
  const loaded = useCall("get", "/communities/{community}", asked, { keepsOld: true });
  if (loaded.error || !loaded.data) return <Pending of={loaded} lines={10} />;
  return <Shown community={loaded.data} />;
}

function Shown({ community }: { community: Community }) {
  const summary = readSummary(community.summary);
  // A report that is quoted begins with its first findings.
  const isRepeated = community.source === EXTRACTIVE && community.findings.length > 0;
  const title = shortTitle(community.title);
  const up = ["up", t("Parent community"), linkTo("communities", { c: community.parent })] as const;
  const links = [
    ...(community.parent ? [up] : []),
    ["graph", t("Show in graph"), linkTo("graph", { c: community.id })],
    [
      "ask",
      t("Ask about this"),
      linkTo("ask", { q: t("What do the documents say about {name}?", { name: title }) }),
    ],
  ] as const;
  return (
    <article class="card stack report" lang={community.language || undefined}>
      <header class="stack tight">
        <h2 class="large break">{title}</h2>
        <p class="row wrap small faint number">
          <span>{t("level {n}", { n: community.level + 1 })}</span>
          <span>{t("{n} {n:entity|entities}", { n: community.size })}</span>
          {community.children > 0 && (
            <span>{t("{n} {n:subcommunity|subcommunities}", { n: community.children })}</span>
          )}
          <Rating value={community.rating} />
          <span>
            {community.source === EXTRACTIVE
              ? t("quoted from the documents")
              : t("written by {model}", { model: community.source })}
          </span>
          {community.is_stale && <span class="tag warn">{t("changed since")}</span>}
        </p>
        <p class="row wrap small">
          {links.map(([icon, label, href]) => (
            <a key={icon} class="row" href={href}>
              <Icon name={icon} size={14} />
              {label}
            </a>
          ))}
        </p>
      </header>
      {!isRepeated &&
        summary.paragraphs.map((paragraph) => (
          <p key={paragraph} class="serif">
            {paragraph}
          </p>
        ))}
      {summary.phrases.length > 0 && (
        <p class="small muted">
          {t("Key phrases:")} {summary.phrases.join(" · ")}
        </p>
      )}
      <Findings community={community} />
      <Members community={community} />
    </article>
  );
}

function Findings({ community }: { community: Community }) {
  if (community.findings.length === 0) return null;
  let number = 0;
  return (
    <section class="stack tight">
      <h3>{t("Findings")}</h3>
      <ol class="stack tight serif lines findings">
        {community.findings.map((finding, index) => (
          <li key={index}>
            {plainText(finding.text)}
            {finding.supports.map(({ document, document_id: id, span: [start = 0, end = 0] }) => {
              number += 1;
              const at = `${id}:${start}:${end}`;
              return (
                <button
                  key={`${at}${number}`}
                  type="button"
                  class="chip"
                  aria-pressed={asked("at") === at}
                  aria-label={t("Passage {n}, in {document}", { n: number, document })}
                  title={document}
                  onClick={() => setQuery({ at })}
                >
                  {number}
                </button>
              );
            })}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Members({ community }: { community: Community }) {
  const { members } = community;
  const [shown, more] = useFirst(members, MEMBERS);
  return (
    <section class="stack tight">
      <h3>{t("Entities")}</h3>
      <ul class="row wrap">
        {shown.map((member) => (
          <li key={member.id}>
            <a class="tag" href={linkTo("graph", { focus: member.id })}>
              {member.name}
            </a>
          </li>
        ))}
      </ul>
      {more}
      {community.size > members.length && (
        <p class="small muted">
          {t("Showing the first {shown} of {total}. Search to find others.", {
            shown: members.length,
            total: community.size,
          })}
        </p>
      )}
    </section>
  );
}
