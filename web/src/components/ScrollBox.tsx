import type { ComponentProps } from "preact";
import { TableBox } from "./TableBox";

/** A table or code within a text, which is no part of the page of its own. */
export function ScrollBox(props: Omit<ComponentProps<typeof TableBox>, "isInText">) {
  return <TableBox {...props} isInText />;
}
