import { t } from "../../i18n";
import { accessKey, needsKey, useKey } from "../../state/access";
import { type Language, language, type Theme, theme } from "../../state/preferences";
import { Icon, type IconName } from "../Icon";
import { Menu } from "../Menu";

const THEMES: readonly { name: Theme; icon: IconName }[] = [
  { name: "system", icon: "system" },
  { name: "light", icon: "light" },
  { name: "dark", icon: "dark" },
];
const LANGUAGES: Record<Language, string> = {
  en: "English",
  zh: "简体中文",
  "zh-TW": "繁體中文",
};

/** Colours, language and key: what is kept in this browser. */
export function Preferences({ openHelp, side }: { openHelp: () => void; side: "left" | "right" }) {
  const words = t.value.shell;
  return (
    <Menu
      label={words.preferences}
      icon={theme.value === "dark" ? "dark" : theme.value === "light" ? "light" : "system"}
      side={side}
      class="up"
      content={(close) => (
        <div class="preferences">
          <fieldset class="segments">
            <legend>{words.theme}</legend>
            {THEMES.map(({ name, icon }) => (
              <label key={name}>
                <input
                  type="radio"
                  name="theme"
                  checked={theme.value === name}
                  onChange={() => {
                    theme.value = name;
                  }}
                />
                <Icon name={icon} size={14} />
                <span>{words.themes[name]}</span>
              </label>
            ))}
          </fieldset>
          <fieldset class="segments">
            <legend>{words.language}</legend>
            {(Object.keys(LANGUAGES) as Language[]).map((name) => (
              <label key={name} lang={name === "zh" ? "zh-CN" : name}>
                <input
                  type="radio"
                  name="language"
                  checked={language.value === name}
                  onChange={() => {
                    language.value = name;
                  }}
                />
                <span>{LANGUAGES[name]}</span>
              </label>
            ))}
          </fieldset>
          <ul class="menu-list">
            <li>
              <button
                type="button"
                onClick={() => {
                  close();
                  openHelp();
                }}
              >
                <Icon name="keyboard" />
                <span class="grow">{words.keys}</span>
                <kbd>?</kbd>
              </button>
            </li>
            <li>
              <button
                type="button"
                onClick={() => {
                  close();
                  if (accessKey.value) useKey("", { stay: false });
                  else needsKey.value = true;
                }}
              >
                <Icon name="key" />
                {accessKey.value ? words.forgetKey : words.enterKey}
              </button>
            </li>
          </ul>
        </div>
      )}
    />
  );
}
