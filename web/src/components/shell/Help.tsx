import { t } from "../../i18n";
import { shortcuts } from "../../state/keys";
import { Dialog } from "../Dialog";

/** All keys that work on this page. */
export function Help({ onClose }: { onClose: () => void }) {
  const listed = Map.groupBy(shortcuts.value, ({ label = "" }) => label);
  listed.delete("");
  return (
    <Dialog title={t("Keyboard shortcuts")} onClose={onClose} class="narrow">
      <dl class="ruled">
        {[...listed].map(([label, keys]) => (
          <div key={label} class="row between">
            <dt>{label}</dt>
            <dd>
              {shorten(keys.map((each) => each.keys)).map((written) => (
                <Keys key={written} written={written} />
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const MOST_KEYS = 3;

/** Return keys for one thing; of many, as the digits, the first and the last. */
function shorten(keys: readonly string[]): readonly string[] {
  return keys.length > MOST_KEYS ? [`${keys[0]} … ${keys.at(-1)}`] : keys;
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

/** Keys as they are written on a keyboard. */
export function Keys({ written }: { written: string }) {
  const presses = written.split(" ");
  return (
    <span class="keys">
      {presses.map((press, index) => (
        <kbd key={`${index}${press}`}>
          {press
            .replace("Mod+", isMac ? "⌘" : "Ctrl ")
            .replace("Escape", "Esc")
            .replace("Enter", "↵")}
        </kbd>
      ))}
    </span>
  );
}
