import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";

interface MenuProps {
  /** What the button says. */
  label: string;
  icon?: IconName;
  /** The content of the button, instead of the label. */
  children?: ComponentChildren;
  /** The content; closing is done by whatever is chosen. */
  content: (close: () => void) => ComponentChildren;
  side?: "left" | "right";
  class?: string;
}

/** A button that opens a small panel beside it. Escape or a click elsewhere closes it. */
export function Menu(props: MenuProps) {
  const { label, icon, children, content, side = "left", class: kind = "" } = props;
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    if (!isOpen) return;
    keepInView(panel.current);
    const leave = (event: Event) => {
      if (event.target instanceof Node && box.current?.contains(event.target)) return;
      setOpen(false);
    };
    const abort = new AbortController();
    for (const name of ["pointerdown", "focusin"])
      document.addEventListener(name, leave, { signal: abort.signal });
    return () => abort.abort();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of what is inside
    <div
      ref={box}
      class={`menu ${kind}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
    >
      <button
        ref={button}
        type="button"
        class={children ? "menu-button" : "icon-button"}
        aria-label={children ? undefined : label}
        title={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? (icon && <Icon name={icon} />)}
      </button>
      <div ref={panel} id={id} class={`menu-panel ${side}`} hidden={!isOpen}>
        {isOpen && content(close)}
      </div>
    </div>
  );
}

const EDGE = 8;

/** Move a panel sideways into what shows it: the window, or the nearest part that cuts it off. */
function keepInView(panel: HTMLElement | null): void {
  let room = panel?.parentElement;
  while (room?.parentElement && getComputedStyle(room).overflowX === "visible")
    room = room.parentElement;
  if (!panel || !room) return;
  panel.style.translate = "";
  const shown = panel.getBoundingClientRect();
  const { left, width } = room.getBoundingClientRect();
  const missing = left + EDGE - shown.left;
  const shift = missing > 0 ? missing : Math.min(0, left + width - EDGE - shown.right);
  panel.style.translate = `${shift}px`;
}

export interface MenuItem {
  label: string;
  icon?: IconName;
  /** Where it leads, or what it does. */
  href?: string;
  run?: () => unknown;
  isCurrent?: boolean;
  /** Whether a line is above it. */
  isRuled?: boolean;
}

/** What a menu offers; it closes when something is chosen. */
export function MenuList({ items, close }: { items: readonly MenuItem[]; close: () => void }) {
  return (
    <ul class="menu-list">
      {items.map(({ label, icon, href, run, isCurrent, isRuled }) => (
        <li key={href ?? label} class={isRuled ? "menu-rule" : ""}>
          {href ? (
            <a href={href} aria-current={isCurrent ? "true" : undefined} onClick={close}>
              {icon && <Icon name={icon} />}
              <span class={icon ? "grow" : "grow clip"} title={label}>
                {label}
              </span>
              {isCurrent && <Icon name="check" />}
            </a>
          ) : (
            <Button
              label={label}
              kind="quiet"
              onClick={() => {
                close();
                return run?.();
              }}
            />
          )}
        </li>
      ))}
    </ul>
  );
}
