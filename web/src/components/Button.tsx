import { type ButtonHTMLAttributes, type ComponentChildren, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { isAborted } from "../api/client";
import { announce } from "../state/announcements";
import { tellError } from "./ErrorState";
import { Icon, type IconName } from "./Icon";

interface Common {
  /** What a click does; while it works, the button shows so and takes no other click. */
  onClick?: (event: MouseEvent) => unknown;
  icon?: IconName;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  title?: string;
  class?: string;
  type?: "button" | "submit";
}

interface ButtonProps extends Common {
  label?: string | undefined;
  /** What is on it instead of a label. */
  children?: ComponentChildren;
  kind?: "plain" | "main" | "quiet" | "danger" | "link";
  busy?: boolean;
}

/** Gets the error of a button within, or null when one is pressed; by default, it is announced. */
export const Failures = createContext((error: unknown) => {
  if (error !== null) announce(tellError(error), "bad");
});

/** A button with words. */
export function Button(props: ButtonProps) {
  const { label, children = label, kind = "plain", icon, busy = false, ...rest } = props;
  const [isWorking, click] = useClick(rest.onClick);
  const isBusy = busy || isWorking;
  return (
    <button
      {...attributes(rest, isBusy)}
      class={`${kind === "link" ? "link-button" : "button"} ${kind} ${rest.class ?? ""}`}
      onClick={click}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

interface IconButtonProps extends Common {
  icon: IconName;
  /** What it does, for those who do not see the icon, and as a tip. */
  label: string;
}

/** A button of an icon alone. */
export function IconButton({ icon, label, ...rest }: IconButtonProps) {
  const [isWorking, click] = useClick(rest.onClick);
  return (
    <button
      {...attributes(rest, isWorking)}
      class={`icon-button ${rest.class ?? ""}`}
      aria-label={label}
      title={rest.title ?? label}
      onClick={click}
    >
      {isWorking ? <span class="spinner" aria-hidden="true" /> : <Icon name={icon} />}
    </button>
  );
}

function attributes(given: Common, isBusy: boolean): ButtonHTMLAttributes<HTMLButtonElement> {
  return {
    type: given.type ?? "button",
    disabled: given.disabled ?? false,
    title: given.title,
    "aria-pressed": given.pressed,
    "aria-expanded": given.expanded,
    "aria-busy": isBusy || undefined,
  };
}

function useClick(
  onClick: ((event: MouseEvent) => unknown) | undefined,
): [boolean, (event: MouseEvent) => void] {
  const [isWorking, setWorking] = useState(false);
  const report = useContext(Failures);
  const click = (event: MouseEvent) => {
    if (isWorking) return;
    report(null);
    const done = onClick?.(event);
    if (!(done instanceof Promise)) return;
    setWorking(true);
    done
      .catch((error: unknown) => {
        if (!isAborted(error)) report(error);
      })
      .finally(() => setWorking(false));
  };
  return [isWorking, click];
}
