import { type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { isAborted } from "../api/client";
import { announce } from "../state/announcements";
import { tellError } from "./ErrorState";
import { Icon, type IconName } from "./Icon";

interface ButtonProps {
  /** What it says; of an icon alone, to those who do not see it, and as a tip. */
  label?: string | undefined;
  /** What is on it instead of a label. */
  children?: ComponentChildren;
  kind?: "plain" | "main" | "quiet" | "danger" | "link" | "icon";
  icon?: IconName;
  /** What a click does; while it works, the button shows so and takes no other click. */
  onClick?: (event: MouseEvent) => unknown;
  busy?: boolean;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  title?: string;
  class?: string;
  type?: "button" | "submit";
}

/** Gets the error of a button or form within, or null when one is used; by default, it is announced. */
export const Failures = createContext((error: unknown) => {
  if (error !== null) announce(tellError(error), "bad");
});

/** Whether the form around sends what was entered: the button that sent it shows so. */
export const Sending = createContext(false);

const CLASSES = { link: "link-button", icon: "icon-button" } as const;

/** A button with words. */
export function Button(props: ButtonProps) {
  const { label, children = label, kind = "plain", icon, type = "button", onClick } = props;
  const [isWorking, run] = useAction();
  const isSent = useContext(Sending) && type === "submit";
  const isBusy = props.busy || isWorking || isSent;
  const isIcon = kind === "icon";
  const classes = kind === "link" || kind === "icon" ? CLASSES[kind] : `button ${kind}`;
  return (
    <button
      type={type}
      class={`${classes} ${props.class ?? ""}`}
      disabled={props.disabled ?? false}
      title={props.title ?? (isIcon ? label : undefined)}
      aria-label={isIcon ? label : undefined}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      aria-busy={isBusy || undefined}
      onClick={(event) => run(() => onClick?.(event))}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {!isIcon && <span>{children}</span>}
    </button>
  );
}

/** A button of an icon alone. */
export function IconButton(props: ButtonProps & { icon: IconName; label: string }) {
  return <Button {...props} kind="icon" />;
}

/** Return whether something is being done, and what does it: one at a time; errors are reported. */
export function useAction(): [boolean, (act: () => unknown) => void] {
  const [isWorking, setWorking] = useState(false);
  const report = useContext(Failures);
  const run = (act: () => unknown) => {
    if (isWorking) return;
    report(null);
    const done = act();
    if (!(done instanceof Promise)) return;
    setWorking(true);
    done
      .catch((error: unknown) => {
        if (!isAborted(error)) report(error);
      })
      .finally(() => setWorking(false));
  };
  return [isWorking, run];
}
