import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./Icon";

interface EmptyProps {
  icon: IconName;
  title: string;
  /** What there would be, and what to do so that there is. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

/** What stands where nothing is yet. */
export function Empty({ icon, title, children, actions }: EmptyProps) {
  return (
    <div class="stack tight empty">
      <span class="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children && <div class="muted">{children}</div>}
      {actions && <div class="row center">{actions}</div>}
    </div>
  );
}
