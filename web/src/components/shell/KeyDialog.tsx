import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { accessKey, isLocked, needsKey, useKey } from "../../state/access";
import { set } from "../../state/set";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { Check, Form, TextField } from "../Fields";

/** Asks for the key of a server that wants one. */
export function KeyDialog() {
  const [key, setKey] = useState("");
  const [stays, setStays] = useState(false);
  return (
    <Dialog title={t("Access key required")} onClose={() => set(needsKey, false)} class="narrow">
      <Form class="stack" onSend={() => useKey(key.trim(), { stay: stays })}>
        <p>
          {accessKey.value && isLocked.value
            ? t("Unknown key. It may have been removed.")
            : t("Enter the key that you were given.")}
        </p>
        <TextField
          label={t("Key")}
          type="password"
          autofocus
          autocomplete="off"
          value={key}
          onInput={setKey}
        />
        <Check label={t("Remember it in this browser")} isOn={stays} onChange={setStays} />
        <p class="small muted">
          {t("The administrator of the server creates one with")}{" "}
          <code>knotwork keys add NAME</code>
        </p>
        <div class="row end">
          <Button label={t("Use this key")} kind="main" type="submit" disabled={!key.trim()} />
        </div>
      </Form>
    </Dialog>
  );
}
