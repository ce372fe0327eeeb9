import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { accessKey, isLocked, needsKey, useKey } from "../../state/access";
import { Button } from "../Button";
import { Dialog } from "../Dialog";

/** Asks for the key of a server that wants one. */
export function KeyDialog() {
  const words = t.value.access;
  const [key, setKey] = useState("");
  const [stays, setStays] = useState(false);
  const close = () => {
    needsKey.value = false;
  };
  return (
    <Dialog title={words.title} onClose={close} class="narrow">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          useKey(key.trim(), { stay: stays });
        }}
      >
        <p>{accessKey.value && isLocked.value ? words.refused : words.wanted}</p>
        <label class="field">
          <span>{words.key}</span>
          <input
            type="password"
            autofocus
            autocomplete="off"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <label class="switch">
          <input
            type="checkbox"
            checked={stays}
            onChange={(event) => setStays(event.currentTarget.checked)}
          />
          <span>{words.stay}</span>
        </label>
        <p class="small muted">
          {words.how} <code>knotwork keys add NAME</code>
        </p>
        <div class="row end">
          <Button kind="main" type="submit" disabled={!key.trim()}>
            {words.use}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
