import { Icon } from "../../components/Icon";
import { duration, percent, t } from "../../i18n";
import { type Progress, progress } from "../../state/jobs";
import { type Entry, fileName, stateOf, titleOf } from "./listing";

/** How a file can be doing, each with its icon. */
export const FILE_STATES = {
  ready: ["Ready", "check"],
  reading: ["Reading", "play"],
  waiting: ["Waiting", "history"],
  idle: ["Not read yet", "minus"],
  attention: ["Needs attention", "warning"],
  dismissed: ["Not read", "none"],
} as const;
const SOUND = /\.(mp3|wav|m4a|flac|ogg|opus|aac|wma|mp4|webm|mkv|mov)$/i;

/** How a file is doing, in words: while it is read, how many of its pages were. */
export function FileState({ entry, isShort = false }: { entry: Entry; isShort?: boolean }) {
  const state = stateOf(entry);
  const words = sayState(entry);
  return (
    <span class={`row small file-state ${state}`} title={words}>
      {state === "reading" ? (
        <span class="spinner" aria-hidden="true" />
      ) : (
        <Icon name={FILE_STATES[state][1]} size={14} />
      )}
      <span class={isShort && state !== "reading" ? "only-spoken" : "clip"}>{words}</span>
    </span>
  );
}

/** Return how a file is doing. */
export function sayState(entry: Entry): string {
  const state = stateOf(entry);
  if (state !== "reading") return t(FILE_STATES[state][0]);
  return (progress.value && sayPart(progress.value)) || t("Reading");
}

/** Return how much of the file in progress was read, or nothing if that is not known. */
export function sayPart({ uri, part, parts, share }: Progress): string {
  if (parts > 0 && SOUND.test(uri))
    return t("Reading {time} of {total}", { time: duration(part), total: duration(parts) });
  if (parts > 0)
    return t("Reading page {page} of {pages}", { page: Math.min(part + 1, parts), pages: parts });
  return share > 0 ? t("{share} read", { share: percent(share) }) : "";
}

interface FileTitleProps {
  entry: Entry;
  /** Where its text is; empty if it has none. */
  href: string;
  onClick?: (event: MouseEvent) => void;
}

export function FileTitle({ entry, href, onClick }: FileTitleProps) {
  const title = titleOf(entry);
  const look = { title: [title, fileName(entry)].join(" · "), children: title };
  if (!href) return <span class="grow clip muted" {...look} />;
  return <a class="grow clip name" href={href} onClick={onClick} {...look} />;
}
