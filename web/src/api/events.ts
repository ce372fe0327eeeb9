/** Server-sent events by fetch: with a key, with a body, and gone on with after a break. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { renewed } from "../state/connection";
import { ApiError, isAborted, isWaiting, send, unreachable } from "./client";

export interface ServerEvent {
  name: string;
  data: unknown;
  id: string;
}

/** Yield the events of a response as they come. Throws ApiError where the connection is lost. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw isAborted(error) ? error : unreachable();
      });
      parser.feed(done ? decoder.decode() : decoder.decode(value, { stream: true }));
      for (const event of ready.splice(0)) {
        yield {
          name: event.event ?? "message",
          data: JSON.parse(event.data) as unknown,
          id: event.id ?? "",
        };
      }
      if (done) return;
    }
  } finally {
    // Whoever stops listening lets the server stop, too.
    await reader.cancel().catch(() => undefined);
  }
}

/** Send a request and yield the events of its response. Throws ApiError. */
export async function* streamEvents(request: Request): AsyncGenerator<ServerEvent> {
  const { body } = await send(request);
  if (body) yield* readEvents(body);
}

export interface Following {
  /** The name of the event that ends the stream; without it, a stream that ends was cut. */
  last: string;
  signal: AbortSignal;
  onEvent: (event: ServerEvent) => void;
  /** Called when the connection is lost (true) and when it is restored (false). */
  onLost?: (lost: boolean) => void;
  /** Milliseconds before the first new attempt; each later one waits twice as long, up to 10 s. */
  pauseMs?: number;
}

const LONGEST_PAUSE_MS = 10_000;
/** Until there is another key, a new attempt would only be refused again. */
const LOCKED_PAUSE_MS = 2 ** 31 - 1;

/** Follow a stream to its end, going on after the last event wherever it breaks.
 *
 * Throws ApiError for what no new attempt mends.
 */
export async function followEvents(url: string, following: Following): Promise<void> {
  const { last, signal, onEvent, onLost, pauseMs = 500 } = following;
  let lastId = "";
  let pause = pauseMs;
  let isLocked = false;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = lastId ? { "Last-Event-ID": lastId } : {};
      for await (const event of streamEvents(new Request(url, { headers, signal }))) {
        pause = pauseMs;
        isLocked = false;
        onLost?.(false);
        if (event.id) lastId = event.id;
        onEvent(event);
        if (event.name === last) return;
      }
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      if (!(error instanceof ApiError && isPassing(error))) throw error;
      isLocked = error.status === 401;
    }
    onLost?.(true);
    await Promise.race([wait(isLocked ? LOCKED_PAUSE_MS : pause, signal), renewed()]);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Return whether an error is temporary: no connection, no key, too many requests, a restart. */
function isPassing(error: ApiError): boolean {
  return isWaiting(error) || error.status === 429 || error.status >= 500;
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
