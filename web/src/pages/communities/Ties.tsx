import { useState } from "preact/hooks";
import { api, type Shapes, take } from "../../api/client";
import { Button } from "../../components/Button";
import { ErrorState } from "../../components/ErrorState";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { Skeleton } from "../../components/Progress";
import { t } from "../../i18n";
import { useLoaded } from "../../state/loading";
import { go, linkTo, workspace } from "../../state/location";
import { isMutual, sayRelation } from "../graph/words";
import type { Community } from "./Tree";

const DRAWN = 14;
const MOST_EDGES = 60;

/** The relations of the most important entities of a community, drawn on request. */
export function Ties({ community }: { community: Community }) {
  const words = t.value.communities;
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="stack tight">
      <Button
        icon={isOpen ? "down" : "right"}
        kind="quiet"
        class="fold"
        expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {words.ties}
      </Button>
      {isOpen && <Drawn community={community} />}
    </div>
  );
}

function Drawn({ community }: { community: Community }) {
  const here = workspace.value;
  const words = t.value.communities;
  const members = community.members.slice(0, DRAWN);
  const known = new Set(members.map(({ id }) => id));
  const loaded = useLoaded(`${here} ${community.id}`, (signal) =>
    take(
      api.POST("/api/v1/workspaces/{workspace}/explore", {
        params: { path: { workspace: here } },
        body: {
          names: members.map(({ name }) => name),
          direction: "out",
          depth: 1,
          fan: DRAWN,
          limit: MOST_EDGES,
        },
        signal,
      }),
    ),
  );
  if (loaded.error) return <ErrorState error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Skeleton label={t.value.common.loading} lines={4} />;
  const edges = chooseTies(loaded.data.edges, known);
  if (edges.length === 0) return <p class="small muted">{words.noTies}</p>;
  const tied = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const drawn = members.filter(({ id }) => tied.has(id));
  return (
    <SmallGraph
      nodes={drawn.map(({ id, name }, index) => ({ id, label: name, isStart: index === 0 }))}
      edges={edges}
      ariaLabel={words.ties}
      onNode={(id) => go(linkTo("graph", { focus: id }))}
    />
  );
}

type Edge = Shapes["Edge"];

/** Return the strongest tie of each pair of members; what is not stated has no word. */
function chooseTies(edges: readonly Edge[], members: ReadonlySet<string>) {
  const pairs = new Map<string, Edge>();
  for (const edge of edges) {
    if (!members.has(edge.source) || !members.has(edge.target)) continue;
    const pair = [edge.source, edge.target].sort().join(" ");
    const before = pairs.get(pair);
    const isBetter = before && isMutual(before.relation) && !isMutual(edge.relation);
    if (!before || isBetter) pairs.set(pair, edge);
  }
  return [...pairs].map(([id, { source, target, relation }]) => ({
    id,
    source,
    target,
    label: isMutual(relation) ? "" : sayRelation(relation),
  }));
}
