import { t } from "../../i18n";
import { accessKey, needsKey, useKey } from "../../state/access";
import { copyText } from "../../state/announcements";
import { workspace } from "../../state/location";
import {
  type Language,
  language,
  type Theme,
  theme,
  usesLetterKeys,
} from "../../state/preferences";
import { set } from "../../state/set";
import { Button, IconButton } from "../Button";
import { Dialog } from "../Dialog";
import { Check, Choice } from "../Fields";

const THEME_NAMES = { system: "System", light: "Light", dark: "Dark" } as const;

const LANGUAGES: Record<Language, string> = {
  en: "English",
  zh: "简体中文",
  "zh-TW": "繁體中文",
};

/** All that can be set: colours, language, keys; and how a program asks the same. */
export function Settings({ onClose, openHelp }: { onClose: () => void; openHelp: () => void }) {
  return (
    <Dialog title={t("Settings")} onClose={onClose}>
      <div class="stack loose">
        <div class="row wrap top">
          <Choice
            legend={t("Theme")}
            options={Object.keys(THEME_NAMES) as Theme[]}
            say={(option) => t(THEME_NAMES[option])}
            chosen={theme.value}
            onChange={(option) => set(theme, option)}
          />
          <Choice
            legend={t("Language")}
            options={Object.keys(LANGUAGES) as Language[]}
            say={(option) => LANGUAGES[option]}
            chosen={language.value}
            onChange={(option) => set(language, option)}
          />
        </div>
        <div class="row wrap between">
          <Check
            label={t("Enable single-key shortcuts")}
            isSwitch
            isOn={usesLetterKeys.value}
            onChange={(isOn) => set(usesLetterKeys, isOn)}
          />
          <Button label={t("Keyboard shortcuts")} kind="quiet" icon="keyboard" onClick={openHelp} />
        </div>
        <Program />
      </div>
    </Dialog>
  );
}

const KEY = "YOUR_KEY";

/** How a program asks the workspace that is shown. */
function Program() {
  const here = workspace.value || "WORKSPACE";
  const address = location.origin;
  const key = accessKey.value;
  const asked = `${address}/api/v1/workspaces/${encodeURIComponent(here)}/ask`;
  const sends = key ? ` -H "Authorization: Bearer ${KEY}"` : "";
  const headers = key ? `, headers={"Authorization": "Bearer ${KEY}"}` : "";
  const body = JSON.stringify({ question: t("Who approves trips abroad?") });
  const examples = {
    curl: `curl ${asked}${sends} -H "Content-Type: application/json" -d '${body}'`,
    Python: `httpx.post("${asked}", json=${body}${headers}).json()["data"]["answer"]`,
    OpenAI: `OpenAI(base_url="${address}/v1", api_key="${key ? KEY : "none"}").chat.completions.create(model="${here}", messages=[{"role": "user", "content": "${t("Who approves trips abroad?")}"}])`,
  };
  return (
    <section class="stack" aria-labelledby="program-title">
      <h3 id="program-title">{t("Use from your program")}</h3>
      <dl class="stack tight">
        <div class="row">
          <dt class="muted">{t("Address")}</dt>
          <dd class="row">
            <code>{address}</code>
            <Copy text={address} />
          </dd>
        </div>
        <div class="row">
          <dt class="muted">{t("Key")}</dt>
          <dd class="row wrap">
            {key ? t("This browser sends a key.") : t("This browser sends no key.")}
            <Button
              label={key ? t("Forget access key") : t("Enter access key")}
              icon="key"
              onClick={() => (key ? useKey("", { stay: false }) : set(needsKey, true))}
            />
          </dd>
        </div>
      </dl>
      <dl class="stack">
        {Object.entries(examples).map(([name, code]) => (
          <div key={name} class="stack tight">
            <dt class="row between small muted">
              {name}
              <Copy text={code} />
            </dt>
            <dd class="program-line">
              <code>{code}</code>
            </dd>
          </div>
        ))}
      </dl>
      <p class="small">
        <a href="/docs" target="_blank" rel="noopener">
          {t("All routes, with examples")}
        </a>
      </p>
    </section>
  );
}

function Copy({ text }: { text: string }) {
  return <IconButton icon="copy" label={t("Copy")} onClick={() => copyText(text)} />;
}
