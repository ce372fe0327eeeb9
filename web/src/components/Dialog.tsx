import type { ComponentChildren, ComponentProps } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { Button, Failures, IconButton } from "./Button";
import { tellError } from "./ErrorState";
import { Icon } from "./Icon";

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

/** A dialog over the page, which has the focus until it is closed, and shows what fails in it. */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, actions, class: kind = "", isBare = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<unknown>(null);
  const reportOutside = useContext(Failures);
  const report = (failure: unknown) => {
    if (element.current) setError(failure);
    else reportOutside(failure);
  };
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
        <Failures.Provider value={report}>
          {children}
          {error !== null && (
            <div ref={showElement} class="card row top error-state" role="alert">
              <Icon name="bad" size={20} />
              <p>{tellError(error)}</p>
            </div>
          )}
          {actions && <footer class="row end">{actions}</footer>}
        </Failures.Provider>
      </div>
    </dialog>
  );
}

const showElement = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" });

interface ConfirmProps extends Omit<DialogProps, "actions" | "isBare"> {
  /** What the button says that does it. */
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

interface AskingProps extends Pick<ComponentProps<typeof Button>, "icon" | "kind"> {
  /** What the button says. */
  label: string;
  /** What the dialog asks, and what its button says: as the other button, by default. */
  title?: string;
  action?: string;
  onConfirm: () => Promise<unknown>;
  children: ComponentChildren;
}

/** A button for what cannot be undone, which asks before. */
export function AskingButton(props: AskingProps) {
  const { icon, kind = "danger", label, title = label, action = label, ...asked } = props;
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button {...(icon && { icon })} kind={kind} label={label} onClick={() => setAsking(true)} />
      {isAsking && (
        <Confirm {...asked} title={title} action={action} onClose={() => setAsking(false)} />
      )}
    </>
  );
}
