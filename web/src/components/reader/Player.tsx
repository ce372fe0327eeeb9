import type { Ref } from "preact";
import { t } from "../../i18n";
import { accessKey } from "../../state/access";
import { workspace } from "../../state/location";
import { ErrorState } from "../ErrorState";
import type { Details } from "./document";
import { addressOfFile, useFile } from "./files";

interface PlayerProps {
  details: Details;
  /** Where it begins, in seconds. */
  from: number;
  player: Ref<HTMLVideoElement>;
}

/** A recording. Without a key, the browser asks for the parts of the file that it plays. */
export function Player({ details, from, player }: PlayerProps) {
  const address = addressOfFile([workspace.value, "documents", details.id, "original"]);
  const file = useFile(accessKey.value ? address : "");
  const source = accessKey.value ? file.data : address;
  const Media = details.original as "video"; // or "audio", which is the same to its reader
  if (file.error) return <ErrorState error={file.error} retry={file.reload} />;
  return (
    <Media
      ref={player}
      class="player"
      controls
      preload="metadata"
      aria-label={t("Recording")}
      {...(source ? { src: from > 0 ? `${source}#t=${from}` : source } : {})}
    />
  );
}
