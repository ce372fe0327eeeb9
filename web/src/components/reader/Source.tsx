import { signal } from "@preact/signals";
import { memo } from "preact/compat";
import { useRef } from "preact/hooks";
import { t } from "../../i18n";
import { workspace } from "../../state/location";
import { IconButton } from "../Button";
import { Choice } from "../Fields";
import type { Span } from "../offsets";
import { DocumentText } from "./DocumentText";
import { type Contents, type Details, nameOf, type Read } from "./document";
import { addressOfFile, download } from "./files";
import { PageView } from "./PageView";
import { Player } from "./Player";

const prefersPages = signal(false);

/** Return whether the pages of a document are shown as pictures. */
export function showsPages({ original }: Details): boolean {
  return original === "pages" && prefersPages.value;
}

/** What a document can be shown as, and its original to download. */
export function SourceTools({ details }: { details: Details }) {
  const { id, uri, original } = details;
  if (!original) return null;
  return (
    <>
      {original === "pages" && (
        <Choice
          legend={t("View")}
          isPlain
          options={["asText", "asPages"] as const}
          say={(name) => (name === "asPages" ? t("Page") : t("Text"))}
          chosen={prefersPages.value ? "asPages" : "asText"}
          onChange={(name) => {
            prefersPages.value = name === "asPages";
          }}
        />
      )}
      <IconButton
        icon="download"
        label={t("Download the original")}
        onClick={() => {
          const names = [workspace.value, "documents", id, "original"];
          return download(addressOfFile(names), nameOf(uri));
        }}
      />
    </>
  );
}

interface SourceProps {
  read: Read;
  marks: readonly Span[];
  /** The place that is shown, in code points; by default that of the first mark. */
  at?: number | undefined;
  onRead?: (place: number) => void;
  things?: Contents["things"];
  level?: number;
}

/** A document as its text, with a player for a recording, or as the pages of its original. */
export const Source = memo(({ read, marks, at, level, ...rest }: SourceProps) => {
  const { details } = read;
  const player = useRef<HTMLVideoElement>(null);
  if (showsPages(details)) return <PageView details={details} marks={marks} at={at} />;
  const isPlayed = details.original === "audio" || details.original === "video";
  const [start = 0, end = 0] = marks[0] ?? [];
  const spoken = details.times.find(({ span: [from = 0, to = 0] }) => from < end && start < to);
  const seek = (seconds: number) => {
    if (!player.current) return;
    player.current.currentTime = seconds;
    void player.current.play();
  };
  return (
    <>
      {isPlayed && <Player details={details} from={spoken?.start_s ?? 0} player={player} />}
      <DocumentText
        read={read}
        marks={marks}
        at={at}
        level={level ?? 1}
        onSeek={isPlayed ? seek : undefined}
        {...rest}
      />
    </>
  );
});
