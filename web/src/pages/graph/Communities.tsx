import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { Pending } from "../../components/ErrorState";
import { Form, SearchField } from "../../components/Fields";
import { Reader } from "../../components/reader/Reader";
import { t } from "../../i18n";
import { asked, askedPart, setQuery } from "../../state/location";
import { mayWrite } from "../../state/workspaces";
import "./communities.css";
import { buildCommunities } from "./Legend";
import { Report } from "./Report";
import { Tree, useCommunities } from "./Tree";

/** What the documents are about: a tree of communities, and the report of the one that is chosen. */
export function Communities() {
  const about = asked("about");
  const chosen = asked("c");
  const listed = useCommunities(about ? { about } : { level: 0 });
  if (listed.error || !listed.data) return <Pending of={listed} lines={8} />;
  const { communities, total, levels, is_current: isCurrent } = listed.data;
  const build = (label: string) =>
    mayWrite.value && (
      <Button
        label={label}
        kind={total ? "quiet" : "main"}
        icon="refresh"
        onClick={buildCommunities}
      />
    );
  if (!about && total === 0)
    return (
      <Empty
        icon="communities"
        title={t("No communities yet")}
        actions={build(t("Build communities"))}
      >
        <p>{t("Communities are detected after indexing, from the relations between entities.")}</p>
      </Empty>
    );
  const shown = chosen || (communities[0]?.id ?? "");
  const place = askedPart();
  return (
    <div class={place ? "communities reading" : "communities"}>
      <div class={chosen ? "stack beside chosen" : "stack beside"}>
        <Search about={about} />
        <p class="row wrap small muted">
          <span>
            {about
              ? t("{n} {n:matching report|matching reports}", { n: total })
              : sayTopmost(total, levels.length)}
          </span>
          {!isCurrent && <span class="tag warn">{t("Documents have changed since")}</span>}
          {build(t("Rebuild communities"))}
        </p>
        {communities.length === 0 ? (
          <p class="muted">{t("No matching reports. Try other words.")}</p>
        ) : (
          <Tree communities={communities} total={total} chosen={shown} isFlat={about !== ""} />
        )}
      </div>
      {shown && (
        <div class={chosen ? "community-report chosen" : "community-report"}>
          {chosen && (
            <Button
              label={t("All communities")}
              kind="quiet"
              icon="left"
              class="narrow-only"
              onClick={() => setQuery({ c: null })}
            />
          )}
          <Report key={shown} id={shown} />
        </div>
      )}
      {place && (
        <div class="reader-side">
          <Reader {...place} onClose={() => setQuery({ at: null })} />
        </div>
      )}
    </div>
  );
}

function Search({ about }: { about: string }) {
  const [text, setText] = useState(about);
  useEffect(() => setText(about), [about]);
  return (
    <search>
      <Form onSend={() => setQuery({ about: text.trim(), c: null, at: null })}>
        <SearchField
          hasKey
          label={t("Search reports")}
          text={text}
          onText={(next) => {
            setText(next);
            if (next === "" && about) setQuery({ about: null, c: null });
          }}
        />
      </Form>
    </search>
  );
}

function sayTopmost(n: number, levels: number): string {
  return levels > 1
    ? t("{n} {n:community|communities}, {levels} levels deep", { n, levels })
    : t("{n} {n:community|communities}", { n });
}
