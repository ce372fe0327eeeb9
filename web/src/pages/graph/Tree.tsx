import { useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { Skeleton } from "../../components/Progress";
import { count, decimal, t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { linkTo, place, workspace } from "../../state/location";
import { revision } from "../../state/workspaces";
import { shortTitle } from "./summary";

export type Community = Shapes["CommunityShape"];

/** Communities that are shown of one branch, at most; the search finds the others. */
export const MOST_SHOWN = 200;
const FIRST = 60;

interface TreeProps {
  communities: readonly Community[];
  total: number;
  chosen: string;
  /** Whether they come from a search: each then says its level, and none opens. */
  isFlat: boolean;
}

/** Communities, the weightiest first; each opens to those within it. */
export function Tree({ communities, total, chosen, isFlat }: TreeProps) {
  const [limit, setLimit] = useState(FIRST);
  const words = t.value.communities;
  return (
    <>
      <ul class="tree" aria-label={t.value.graph.communities}>
        {communities.slice(0, limit).map((community) => (
          <Branch key={community.id} community={community} chosen={chosen} isFlat={isFlat} />
        ))}
      </ul>
      {communities.length > limit && (
        <Button kind="quiet" onClick={() => setLimit(MOST_SHOWN)}>
          {t.value.common.more} ({t.value.common.of(count(limit), count(total))})
        </Button>
      )}
      {communities.length <= limit && total > communities.length && (
        <p class="small muted">{words.cut(count(communities.length), count(total))}</p>
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
  const words = t.value.communities;
  const [isOpen, setOpen] = useState(false);
  const canOpen = !isFlat && community.children > 0;
  const title = shortTitle(community.title);
  const asked = Object.fromEntries(place.value.query);
  return (
    <li>
      <div class="tree-row">
        {canOpen ? (
          <IconButton
            icon={isOpen ? "down" : "right"}
            label={words.within(title)}
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
            <span>{words.size(community.size)}</span>
            <Rating value={community.rating} />
            {isFlat && <span>{words.level(community.level + 1)}</span>}
            {community.is_stale && <span class="tag warn">{words.stale}</span>}
          </span>
        </a>
      </div>
      {isOpen && <Children parent={community.id} chosen={chosen} />}
    </li>
  );
}

function Children({ parent, chosen }: { parent: string; chosen: string }) {
  const here = workspace.value;
  const listed = useLoaded(`${here} ${parent} ${revision.value}`, (signal) =>
    take(
      api.GET("/api/v1/workspaces/{workspace}/communities", {
        params: { path: { workspace: here }, query: { parent, limit: MOST_SHOWN, members: 3 } },
        signal,
      }),
    ),
  );
  if (listed.error) return <ErrorState error={listed.error} retry={listed.reload} />;
  if (!listed.data) return <Skeleton label={t.value.common.loading} lines={2} />;
  return (
    <Tree
      communities={listed.data.communities}
      total={listed.data.total}
      chosen={chosen}
      isFlat={false}
    />
  );
}

/** How much of the index a community covers, from 0 to 10. */
export function Rating({ value }: { value: number }) {
  const label = t.value.communities.rating(decimal(value, 1));
  return <meter class="rating" min={0} max={10} value={value} aria-label={label} title={label} />;
}
