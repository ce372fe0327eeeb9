import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { title as workspaceTitle } from "../state/workspaces";

export const PRODUCT = "Knotwork";

interface PageHeadProps {
  title: string;
  /** What the page is, or what it shows, in a line. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

/** Name the tab after a page. */
export function useTitle(title: string): void {
  const tab = [title, workspaceTitle.value, PRODUCT].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = tab;
  }, [tab]);
}

/** The head of a page: its name, which is the title of the tab too, and what can be done. */
export function PageHead({ title, children, actions }: PageHeadProps) {
  useTitle(title);
  return (
    <header class="row wrap between top page-head">
      <div class="break">
        <h1>{title}</h1>
        {children && <div class="muted">{children}</div>}
      </div>
      {actions && <div class="row wrap">{actions}</div>}
    </header>
  );
}
