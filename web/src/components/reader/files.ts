/** The original files of documents: where they are, and what of them is shown. */

import { useEffect } from "preact/hooks";
import { send } from "../../api/client";
import { type Loaded, useLoaded } from "../../state/loading";

/** Return the address of a file of a workspace, by the names on its way, and what is asked of it. */
export function addressOfFile(names: readonly string[], query = ""): string {
  return `${location.origin}/api/v1/workspaces/${names.map(encodeURIComponent).join("/")}${query}`;
}

/** Load a file with the key of the page, which addresses in HTML cannot send; "" loads nothing.
 *
 * What comes is an address within the page.
 */
export function useFile(address: string): Loaded<string> {
  const file = useLoaded(
    address,
    async (signal) => URL.createObjectURL(await loadFile(address, { signal })),
    { keepsOld: true },
  );
  const made = file.data;
  useEffect(() => () => URL.revokeObjectURL(made ?? ""), [made]);
  return file;
}

/** Download a file under a name, made of a body in JSON if there is one. Throws ApiError. */
export async function download(address: string, name: string, body?: string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  saveFile(name, await loadFile(address, body ? { method: "POST", headers, body } : {}));
}

/** Have the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const made = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = made;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(made), 60_000);
}

async function loadFile(address: string, asked: RequestInit): Promise<Blob> {
  return (await send(new Request(address, asked))).blob();
}
