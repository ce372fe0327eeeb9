/** The original files of documents: where they are, and what of them is shown. */

import { useEffect } from "preact/hooks";
import { send } from "../../api/client";
import { type Loaded, useLoaded } from "../../state/loading";

/** Return the address of the original of a document, or of a part of it. */
export function addressOfFile(workspace: string, document: string, part: string): string {
  const names = [workspace, "documents", document].map(encodeURIComponent).join("/");
  return `${location.origin}/api/v1/workspaces/${names}/${part}`;
}

/** Load a file with the key of the page, which addresses in HTML cannot send; "" loads nothing.
 *
 * What comes is an address within the page.
 */
export function useFile(address: string): Loaded<string> {
  const file = useLoaded(
    address,
    async (signal) => URL.createObjectURL(await loadFile(address, signal)),
    { keepsOld: true },
  );
  const made = file.data;
  useEffect(() => () => URL.revokeObjectURL(made ?? ""), [made]);
  return file;
}

/** Download a file under a name. Throws ApiError. */
export async function download(address: string, name: string): Promise<void> {
  saveFile(name, await loadFile(address));
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

async function loadFile(address: string, signal?: AbortSignal): Promise<Blob> {
  const response = await send(new Request(address, signal ? { signal } : {}));
  return response.blob();
}
