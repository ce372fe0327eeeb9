import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { ApiError, asError, isWaiting, UNREACHABLE } from "../api/client";
import { t } from "../i18n";
import { say, translate } from "../i18n/say";
import { renew, renewal } from "../state/connection";
import type { Loaded } from "../state/loading";
import { Button } from "./Button";
import { Icon } from "./Icon";
import { Skeleton } from "./Progress";

/** Return what an error says, and what to do about it, in a line. */
export function tellError(error: unknown): string {
  return [messageOf(error), fixOf(error)].filter(Boolean).join(" ");
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiError)) return asError(error).message;
  if (error.code === UNREACHABLE) return t("The server could not be reached.");
  if (error.status === 401) return t("Access key required");
  const { code, message } = error;
  if (!message) return t("The connection ended before the answer was complete.");
  // Where a message has no translation, what its code means.
  return translate(message) ?? translate(`#${code}`) ?? say(message);
}

function fixOf(error: unknown): string {
  if (!(error instanceof ApiError) || error.status === 401) return "";
  return error.code === UNREACHABLE ? t("Nothing was changed. Try again.") : say(error.fix);
}

/** Return whether what was asked for is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** The cards of the page, oldest first: what several parts report is shown once. */
const cards = signal<readonly { text: string }[]>([]);

/** What went wrong, and a way to try again. What waits for the server or a key tries by itself. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const waits = retry !== undefined && isWaiting(error);
  const turn = renewal.value;
  const [begun] = useState(turn);
  const text = tellError(error);
  const [card] = useState({ text });
  const same = cards.value.filter((each) => each.text === text);
  const isRepeated = same.length > 0 && same[0] !== card;
  useEffect(() => {
    if ((waits || isRepeated) && turn !== begun) retry?.();
  }, [turn]);
  useLayoutEffect(() => {
    if (waits) return;
    card.text = text;
    cards.value = [...cards.peek(), card];
    return () => {
      cards.value = cards.peek().filter((each) => each !== card);
    };
  }, [waits, text]);
  if (waits) return <Skeleton />;
  if (isRepeated) return null;
  const again = () => {
    if (same.length > 1) renew();
    return retry?.();
  };
  const requestId = error instanceof ApiError ? error.requestId : "";
  const fix = fixOf(error);
  return (
    <div class="card row top error-state" role="alert">
      <Icon name="bad" size={20} />
      <div class="stack tight">
        <p>{messageOf(error)}</p>
        {fix && <p class="muted">{fix}</p>}
        {requestId && (
          <p class="faint small">
            {t("Request")} <code>{requestId}</code>
          </p>
        )}
        {retry && !isMissing(error) && (
          <Button label={t("Try again")} icon="refresh" class="fold" onClick={again} />
        )}
      </div>
    </div>
  );
}

interface PendingProps {
  of: Pick<Loaded<unknown>, "data" | "error" | "isLoading" | "reload">;
  lines?: number;
  label?: string;
}

/** What is shown until something has come, or where it could not. */
export function Pending({ of, lines = 3, label }: PendingProps) {
  if (of.error) return <ErrorState error={of.error} retry={of.reload} />;
  if (!of.isLoading || of.data !== null) return null;
  return <Skeleton lines={lines} {...(label ? { label } : {})} />;
}
