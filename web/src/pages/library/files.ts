/** Files that a person drops or chooses, folders too, and how they are sent. */

import { credentials, errorOf, type Shapes, unreachable } from "../../api/client";
import { t } from "../../i18n";
import { accessKey, noteLocked } from "../../state/access";

export interface Chosen {
  /** With the folders it lay in, as `minutes/2024/march.md`. */
  name: string;
  file: File;
}

export type Upload = Shapes["Upload"];

const MOST_FILES = 200;
const MOST_BYTES = 24_000_000;

/** Return the files of a file field; those of a folder keep their folders, hidden ones are left. */
export function filesOf(list: FileList | null): Chosen[] {
  return [...(list ?? [])]
    .map((file) => ({ name: file.webkitRelativePath || file.name, file }))
    .filter(({ name }) => !name.includes("/."));
}

/** Return a title for what is chosen: the name of its one folder, else that of its first file. */
export function titleOf(chosen: readonly Chosen[]): string {
  const names = chosen.map(({ name }) => name);
  const [first = ""] = names;
  const folder = first.slice(0, first.indexOf("/") + 1);
  if (folder && names.every((name) => name.startsWith(folder))) return folder.slice(0, -1);
  const file = (first.split("/").at(-1) ?? "").replace(/(?<=.)\.[^.]+$/, "");
  // Hyphens stand for spaces, but not in a date.
  const words = file.replaceAll(/(?<!\d)[-_]+|[-_]+(?!\d)/g, " ").trim() || file;
  const title = words.charAt(0).toUpperCase() + words.slice(1);
  return names.length > 1
    ? t("{first} and {more} more", { first: title, more: names.length - 1 })
    : title;
}

/** Return files with a number in the names that others have too, as those of two folders may. */
export function nameApart(chosen: readonly Chosen[]): Chosen[] {
  const taken = new Set<string>();
  const given = new Set(chosen.map(({ name }) => name));
  return chosen.map(({ name, file }) => {
    const [, stem = name, suffix = ""] = /^(.*[^/])(\.[^./]*)$/.exec(name) ?? [];
    let own = name;
    for (let n = 2; taken.has(own) || (n > 2 && given.has(own)); n += 1)
      own = `${stem} (${n})${suffix}`;
    taken.add(own);
    return { name: own, file };
  });
}

const HEAD_BYTES = 1_024;
/** How PDF files, archives and office files begin. */
const SIGNATURES = ["%PDF", "PK", "\xd0\xcf\x11\xe0"];

/** Return the files that may be documents by how they begin: not what is empty or a program. */
export async function likelyDocuments(chosen: readonly Chosen[]): Promise<Chosen[]> {
  const isLikely = async ({ file }: Chosen) => {
    if (/^(audio|video|image)\//.test(file.type)) return true;
    const bytes = await file.slice(0, HEAD_BYTES).arrayBuffer();
    const head = String.fromCharCode(...new Uint8Array(bytes));
    const isKnown = SIGNATURES.some((signature) => head.startsWith(signature));
    return head.trim() !== "" && (isKnown || !head.includes("\0"));
  };
  const found = await Promise.all(chosen.map(isLikely));
  return chosen.filter((_, index) => found[index]);
}

/** Return the files of a drop, walking through folders. */
export async function droppedFiles(transfer: DataTransfer): Promise<Chosen[]> {
  // Entries are only there while the event is handled: taken before anything is waited for.
  const entries = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found = await Promise.all(
    entries.map((entry) => {
      if (entry instanceof File) return [{ name: entry.name, file: entry }];
      return entry ? walk(entry) : [];
    }),
  );
  return found.flat();
}

async function walk(entry: FileSystemEntry): Promise<Chosen[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ name: entry.fullPath.replace(/^\/+/, ""), file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const within: FileSystemEntry[] = [];
  for (;;) {
    // A reader returns a part at a time, and nothing at the end.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) break;
    within.push(...part);
  }
  const shown = within.filter(({ name }) => !name.startsWith("."));
  return (await Promise.all(shown.map(walk))).flat();
}

/** Return files in parts that one request carries each. */
export function splitFiles(chosen: readonly Chosen[]): Chosen[][] {
  const parts: Chosen[][] = [];
  let bytes = 0;
  for (const item of chosen) {
    bytes += item.file.size;
    const last = parts.at(-1);
    if (last && last.length < MOST_FILES && bytes <= MOST_BYTES) last.push(item);
    else {
      parts.push([item]);
      bytes = item.file.size;
    }
  }
  return parts;
}

export interface Sending {
  workspace: string;
  files: readonly Chosen[];
  /** Whether a job is to index them at once. */
  index: boolean;
  signal: AbortSignal;
  onSent: (bytes: number) => void;
}

/** Send files in one request. Throws ApiError. `fetch` does not report how much it has sent. */
export function sendFiles({ workspace, files, index, signal, onSent }: Sending): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("index", String(index));
    for (const { name, file } of files) form.append("files", file, name);
    request.open("POST", `/api/v1/workspaces/${encodeURIComponent(workspace)}/documents`);
    for (const [name, value] of Object.entries(credentials()))
      request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    const key = accessKey.value;
    request.onload = () => {
      if (request.status === 401) noteLocked(key);
      const body: unknown = request.response;
      if (request.status < 300) return resolve((body as { data: Upload }).data);
      const wait = request.getResponseHeader("Retry-After");
      const headers = wait ? { "Retry-After": wait } : {};
      const { status, statusText } = request;
      reject(errorOf(new Response(null, { status, statusText, headers }), body));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
