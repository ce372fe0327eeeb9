/** Requests to the server, and its errors as they are meant. */

import { accessKey, noteLocked } from "../state/access";
import { noteAway } from "../state/connection";
import type { components } from "./schema";

export type Shapes = components["schemas"];

/** An error as the server reports it: what is wrong, and what to do about it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly code: string,
    message: string,
    readonly fix: string,
    readonly status: number,
    readonly requestId = "",
    readonly retryAfterS = 0,
  ) {
    super(message);
  }
}

/** The code of an error that did not come from the server: it could not be reached. */
export const UNREACHABLE = "unreachable";

/** Return what requests carry to be let in. */
export function credentials(): Record<string, string> {
  return accessKey.value ? { Authorization: `Bearer ${accessKey.value}` } : {};
}

/** Note that the server is away, and return the error that says so. */
export function unreachable(): ApiError {
  void noteAway();
  return new ApiError(UNREACHABLE, "", "", 0);
}

/** Return whether a proxy answered for a server that is away. */
function isAwayBehind({ status, headers }: Response): boolean {
  return (status === 502 || status === 504) && !headers.has("X-Request-ID");
}

const JSON_TYPE = "application/json";
const MOST_KEPT = 60;
const MOST_CHARACTERS = 500_000;
/** What was read last, by key and address: it stays readable while the server is away. */
const kept = new Map<string, string>();

/** Send a request. Throws ApiError if no answer comes or it reports an error, and what an abort throws. */
export async function send(request: Request): Promise<Response> {
  const key = accessKey.value;
  const name = request.method === "GET" ? `${key}\n${request.url}` : "";
  for (const [name, value] of Object.entries(credentials())) request.headers.set(name, value);
  const response = await fetch(request).catch((error: unknown) => {
    if (request.signal.aborted) throw error;
    return null;
  });
  if (!response || isAwayBehind(response)) {
    const error = unreachable();
    const text = kept.get(name);
    if (text === undefined) throw error;
    return new Response(text, { headers: { "Content-Type": JSON_TYPE } });
  }
  if (response.status === 401) noteLocked(key);
  if (name && response.ok && response.headers.get("Content-Type") === JSON_TYPE)
    void keepReply(name, response.clone());
  if (!response.ok) throw errorOf(response, await response.json().catch(() => null));
  return response;
}

async function keepReply(name: string, response: Response): Promise<void> {
  const text = await response.text().catch(() => "");
  kept.delete(name);
  if (text && text.length <= MOST_CHARACTERS) kept.set(name, text);
  for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
}

/** Return whether an error ends when the server is back or a key is given. */
export function isWaiting(error: unknown): boolean {
  return error instanceof ApiError && (error.code === UNREACHABLE || error.status === 401);
}

/** Return the error of a response. */
export function errorOf(response: Response, body: unknown): ApiError {
  const reported = isReported(body) ? body : null;
  return new ApiError(
    reported?.error.code ?? `http_${response.status}`,
    reported?.error.message ?? `${response.status} ${response.statusText}`.trim(),
    reported?.error.fix ?? "",
    response.status,
    reported?.request_id ?? "",
    Number(response.headers.get("Retry-After") ?? 0),
  );
}

interface Reported {
  error: { code: string; message: string; fix: string };
  request_id: string;
}

function isReported(body: unknown): body is Reported {
  return typeof (body as Partial<Reported> | null)?.error === "object";
}

/** Return what was thrown as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Return whether a request was aborted on purpose: nothing to report. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
