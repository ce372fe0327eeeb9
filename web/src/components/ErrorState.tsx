import { ApiError, UNREACHABLE } from "../api/client";
import { t } from "../i18n";
import { say, translate } from "../i18n/say";
import { Button } from "./Button";
import { Icon } from "./Icon";

/** Return what an error says, and what to do about it, in a line. */
export function tellError(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.code === UNREACHABLE)
      return `${t.value.errors.unreachable} ${t.value.errors.unreachableFix}`;
    return [sayError(error), say(error.fix)].filter(Boolean).join(" ");
  }
  return errorText(error);
}

interface ErrorStateProps {
  error: unknown;
  retry?: () => void;
}

/** What went wrong, what to do, and a way to try again. */
export function ErrorState({ error, retry }: ErrorStateProps) {
  const known = error instanceof ApiError ? error : null;
  const isUnreachable = known?.code === UNREACHABLE;
  const message = isUnreachable
    ? t.value.errors.unreachable
    : known
      ? sayError(known)
      : errorText(error);
  const fix = isUnreachable ? t.value.errors.unreachableFix : known && say(known.fix);
  return (
    <div class="error-state" role="alert">
      <Icon name="bad" size={20} />
      <div>
        <p class="error-message">{message}</p>
        {fix && <p class="muted">{fix}</p>}
        {known?.requestId && (
          <p class="faint small">
            {t.value.errors.request} <code>{known.requestId}</code>
          </p>
        )}
        {retry && (
          <Button icon="refresh" onClick={retry}>
            {t.value.common.retry}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Return what an error says; where it has no translation, what its code means. */
function sayError({ code, message }: ApiError): string {
  return translate(message) ?? translate(`#${code}`) ?? say(message);
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
