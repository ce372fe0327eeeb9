import type { ComponentProps } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button, useAction } from "../../components/Button";
import { type Chosen, filesOf } from "./files";

type ButtonLook = Pick<ComponentProps<typeof Button>, "kind" | "icon">;

interface FileButtonProps extends ButtonLook {
  label: string;
  /** What is chosen: some files by default. */
  of?: "files" | "file" | "folder";
  onChoose: (chosen: Chosen[]) => unknown;
}

/** A button to choose files. */
export function FileButton({ label, of = "files", onChoose, ...look }: FileButtonProps) {
  const field = useRef<HTMLInputElement>(null);
  const [isWorking, run] = useAction();
  useEffect(() => {
    // No property of its own in the types, as it is not in the standard.
    if (of === "folder") field.current?.setAttribute("webkitdirectory", "");
  }, []);
  return (
    <>
      <input
        ref={field}
        class="only-spoken"
        type="file"
        multiple={of !== "file"}
        tabIndex={-1}
        aria-label={label}
        onChange={(event) => {
          const chosen = filesOf(event.currentTarget.files);
          event.currentTarget.value = "";
          if (chosen.length > 0) run(() => onChoose(chosen));
        }}
      />
      <Button label={label} {...look} busy={isWorking} onClick={() => field.current?.click()} />
    </>
  );
}
