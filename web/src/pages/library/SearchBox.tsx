import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/Button";
import { Empty } from "../../components/Empty";
import { Pending } from "../../components/ErrorState";
import { Form, SearchField } from "../../components/Fields";
import { useFilter } from "../../components/filters/FilterForm";
import { SourceCard } from "../../components/SourceCard";
import { percent, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { currentJob, progress } from "../../state/jobs";
import { asked, linkTo, setQuery } from "../../state/location";

const FOUND = 10;

/** Passages for a few words; it works while an index is still being made. */
export function SearchBox() {
  const wanted = asked("q").trim();
  const where = asked("where").trim();
  const [text, setText] = useState(wanted);
  const [filter, setFilter] = useState(where);
  const [toggle, filterForm] = useFilter(filter, setFilter);
  useEffect(() => setText(wanted), [wanted]);
  useEffect(() => setFilter(where), [where]);
  const body = { question: wanted, k: FOUND, filters: where || null };
  const found = useCall("post", "/search", wanted ? { body } : null);
  return (
    <search class="stack" aria-label={t("Search passages")}>
      <Form class="stack tight" onSend={() => setQuery({ q: text.trim(), where: filter })}>
        <div class="row">
          <SearchField
            hasKey
            class="grow"
            label={t("Search passages")}
            text={text}
            onText={setText}
          />
          {toggle}
        </div>
        {filterForm && (
          <>
            {filterForm}
            <div class="row">
              <Button
                label={t("Search")}
                type="submit"
                icon="search"
                disabled={filter === where && text.trim() === wanted}
              />
            </div>
          </>
        )}
      </Form>
      <Pending of={found} lines={6} />
      {found.data?.hits.length === 0 && (
        <Empty icon="search" title={t("No results")}>
          <p>{t("Try other or fewer words.")}</p>
        </Empty>
      )}
      {found.data && found.data.hits.length > 0 && (
        <>
          <p class="row between wrap small muted">
            <span aria-live="polite">
              {t("{n} {n:passage|passages}, best first", { n: found.data.hits.length })}
            </span>
            <Indexed />
            <a href={linkTo("ask", { q: wanted, where })}>{t("Ask this instead")}</a>
          </p>
          <ol class="stack tight">
            {found.data.hits.map((hit) => (
              <li key={hit.chunk_id}>
                <SourceCard
                  number={hit.rank}
                  of={hit}
                  text={hit.text}
                  marks={hit.sentences.slice(0, 1).map(({ span }) => span)}
                  href={linkTo("documents", {
                    doc: hit.document_id,
                    start: hit.span[0],
                    end: hit.span[1],
                  })}
                />
              </li>
            ))}
          </ol>
        </>
      )}
    </search>
  );
}

/** While an index is being made: how much of it can be found already. */
function Indexed() {
  const reported = progress.value;
  if (!currentJob.value || !reported?.total || reported.done >= reported.total) return null;
  return (
    <span class="tag">
      {t("{share} indexed so far", { share: percent(reported.done / reported.total) })}
    </span>
  );
}
