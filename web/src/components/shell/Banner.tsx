import { t } from "../../i18n";
import { isLocked, needsKey } from "../../state/access";
import { isAway } from "../../state/connection";
import { set } from "../../state/set";
import { Button } from "../Button";

/** Says above every page that the server is away, or wants a key. */
export function Banner() {
  const words = t.value;
  return (
    <div class="row wrap center banner" role="status">
      {isAway.value ? (
        <>
          <span class="spinner" aria-hidden="true" />
          {words.shell.away}
        </>
      ) : (
        isLocked.value &&
        !needsKey.value && (
          <>
            {words.access.title}
            <Button label={words.shell.enterKey} icon="key" onClick={() => set(needsKey, true)} />
          </>
        )
      )}
    </div>
  );
}
