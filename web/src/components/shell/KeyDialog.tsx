import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { accessKey, isLocked, needsKey, useKey } from "../../state/access";
import { set } from "../../state/set";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { Check, TextField } from "../Fields";

/** Asks for the key of a server that wants one. */
export function KeyDialog() {
  const words = t.value.access;
  const [key, setKey] = useState("");
  const [stays, setStays] = useState(false);
  return (
    <Dialog title={words.title} onClose={() => set(needsKey, false)} class="narrow">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          useKey(key.trim(), { stay: stays });
        }}
      >
        <p>{accessKey.value && isLocked.value ? words.refused : words.wanted}</p>
        <TextField
          label={words.key}
          type="password"
          autofocus
          autocomplete="off"
          value={key}
          onInput={setKey}
        />
        <Check label={words.stay} isOn={stays} onChange={setStays} />
        <p class="small muted">
          {words.how} <code>knotwork keys add NAME</code>
        </p>
        <div class="row end">
          <Button label={words.use} kind="main" type="submit" disabled={!key.trim()} />
        </div>
      </form>
    </Dialog>
  );
}
