import { t } from "../../i18n";
import { isLocked, needsKey } from "../../state/access";
import { isAway } from "../../state/connection";
import { set } from "../../state/set";
import { Button } from "../Button";

/** Says above every page that the server is away, or wants a key. */
export function Banner() {
  return (
    <div class="row wrap center banner" role="status">
      {isAway.value ? (
        <>
          <span class="spinner" aria-hidden="true" />
          {t("The server is away. Trying again…")}
        </>
      ) : (
        isLocked.value &&
        !needsKey.value && (
          <>
            {t("Access key required")}
            <Button label={t("Enter access key")} icon="key" onClick={() => set(needsKey, true)} />
          </>
        )
      )}
    </div>
  );
}
