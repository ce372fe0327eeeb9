import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Button, IconButton } from "./Button";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Buttons at its end. */
  actions?: ComponentChildren;
  class?: string;
  /** Whether it has no head: its title is only said. */
  isBare?: boolean;
}

/** A dialog over the page, which has the focus until it is closed. */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, actions, class: kind = "", isBare = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={element}
      class={`dialog ${kind}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class={isBare ? "" : "dialog-body"}>
        {!isBare && (
          <header class="row between">
            <h2>{title}</h2>
            <IconButton icon="close" label={t("Close")} onClick={onClose} />
          </header>
        )}
        {children}
        {actions && <footer class="row end">{actions}</footer>}
      </div>
    </dialog>
  );
}

interface ConfirmProps extends Omit<DialogProps, "actions" | "isBare"> {
  action: string;
  kind?: "danger" | "main";
  isReady?: boolean;
  onConfirm: () => Promise<unknown>;
}

/** Asks before something is done, by default something that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { action, kind = "danger", isReady = true, onConfirm, ...dialog } = props;
  const { onClose } = dialog;
  const actions = (
    <>
      <Button label={t("Cancel")} kind="quiet" onClick={onClose} />
      <Button
        label={action}
        kind={kind}
        disabled={!isReady}
        onClick={() => onConfirm().then(onClose)}
      />
    </>
  );
  return <Dialog {...dialog} actions={actions} />;
}
