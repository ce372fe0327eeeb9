import { useState } from "preact/hooks";
import type { Shapes } from "../../api/client";
import { IconButton } from "../../components/Button";
import { Pending } from "../../components/ErrorState";
import { Progress } from "../../components/Progress";
import { useFirst } from "../../components/Section";
import { decimal, t } from "../../i18n";
import { useCall } from "../../state/calls";
import { linkTo, place } from "../../state/location";
import { shortTitle } from "./summary";

export type Community = Shapes["CommunityShape"];

/** Communities that are shown of one branch, at most; the search finds the others. */
const MOST_SHOWN = 200;
const FIRST = 60;

/** Load communities: those of a level, those within one, or those about something. */
export function useCommunities(which: { level: number } | { parent: string } | { about: string }) {
  const query = { ...which, limit: MOST_SHOWN, members: 3 };
  return useCall("get", "/communities", { query }, { keepsOld: true });
}

interface TreeProps {
  communities: readonly Community[];
  total: number;
  chosen: string;
  /** Whether they come from a search: each then says its level, and none opens. */
  isFlat?: boolean;
}

/** Communities, the weightiest first; each opens to those within it. */
export function Tree({ communities, total, chosen, isFlat = false }: TreeProps) {
  const [shown, more] = useFirst(communities, FIRST);
  return (
    <>
      <ul class="tree" aria-label={t("Communities")}>
        {shown.map((community) => (
          <Branch key={community.id} community={community} chosen={chosen} isFlat={isFlat} />
        ))}
      </ul>
      {more}
      {!more && total > communities.length && (
        <p class="small muted">
          {t("Showing the first {shown} of {total}. Search to find others.", {
            shown: communities.length,
            total,
          })}
        </p>
      )}
    </>
  );
}

interface BranchProps {
  community: Community;
  chosen: string;
  isFlat: boolean;
}

function Branch({ community, chosen, isFlat }: BranchProps) {
  const [isOpen, setOpen] = useState(false);
  const title = shortTitle(community.title);
  const asked = Object.fromEntries(place.value.query);
  return (
    <li>
      <div class="row top tree-row">
        {!isFlat && community.children > 0 ? (
          <IconButton
            icon={isOpen ? "down" : "right"}
            label={t("Show communities in {title}", { title })}
            expanded={isOpen}
            class="tree-fold"
            onClick={() => setOpen(!isOpen)}
          />
        ) : (
          <span class="tree-fold" />
        )}
        <a
          href={linkTo("communities", { ...asked, c: community.id, at: null })}
          aria-current={community.id === chosen ? "true" : undefined}
        >
          <span class="tree-title" title={community.title}>
            {title}
          </span>
          <span class="small faint row wrap number">
            <span>{t("{n} {n:entity|entities}", { n: community.size })}</span>
            <Rating value={community.rating} />
            {isFlat && <span>{t("level {n}", { n: community.level + 1 })}</span>}
            {community.is_stale && <span class="tag warn">{t("changed since")}</span>}
          </span>
        </a>
      </div>
      {isOpen && <Children parent={community.id} chosen={chosen} />}
    </li>
  );
}

function Children({ parent, chosen }: { parent: string; chosen: string }) {
  const listed = useCommunities({ parent });
  if (listed.error || !listed.data) return <Pending of={listed} lines={2} />;
  return <Tree {...listed.data} chosen={chosen} />;
}

/** How much of the index a community covers, from 0 to 10. */
export function Rating({ value }: { value: number }) {
  const label = t("Coverage {value} of 10", { value: decimal(value, 1) });
  return (
    <span class="rating">
      <Progress role="meter" done={value} total={10} label={label} />
    </span>
  );
}
