import { afterEach, describe, expect, it, vi } from "vitest";
import { followEvents, readEvents, type ServerEvent } from "../../src/api/events";

vi.mock("../../src/state/connection", () => ({
  noteAway: async () => undefined,
  renew: () => undefined,
  renewed: () => new Promise(() => undefined),
}));

const encoder = new TextEncoder();

/** A body that comes in pieces of a few bytes, as the net may cut it. */
function bodyOf(text: string, pieceBytes = 7): ReadableStream<Uint8Array> {
  const bytes = encoder.encode(text);
  return new ReadableStream({
    start(controller) {
      for (let from = 0; from < bytes.length; from += pieceBytes) {
        controller.enqueue(bytes.slice(from, from + pieceBytes));
      }
      controller.close();
    },
  });
}

async function collect(body: ReadableStream<Uint8Array>): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

const TEXT = `: ping

event: stage
data: {"stage": "found", "names": ["温青岚", "😀"]}
id: 4

data: [1,
data: 2]

`;

describe("reading events", () => {
  it.each([1, 2, 3, 5, 1000])("reads the same from pieces of %i bytes", async (bytes) => {
    expect(await collect(bodyOf(TEXT, bytes))).toEqual([
      { name: "stage", data: { stage: "found", names: ["温青岚", "😀"] }, id: "4" },
      { name: "message", data: [1, 2], id: "" },
    ]);
  });

  it("lets the server stop when nobody listens any more", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const event of readEvents(body)) {
      expect(event.data).toBe(1);
      break;
    }
    expect(cancelled).toBe(true);
  });
});

describe("following events", () => {
  afterEach(() => vi.unstubAllGlobals());

  const answer = (text: string) => new Response(bodyOf(text), { status: 200 });

  it("goes on after the last event where a stream breaks, and stops at its end", async () => {
    const asked: (string | null)[] = [];
    const answers = [
      () => answer("id: 1\ndata: 1\n\nid: 2\ndata: 2\n\n"),
      () => {
        throw new TypeError("no net");
      },
      () => answer("id: 3\ndata: 3\n\nevent: end\ndata: {}\n\n"),
    ];
    vi.stubGlobal("fetch", async (request: Request) => {
      asked.push(request.headers.get("Last-Event-ID"));
      return answers[asked.length - 1]?.();
    });
    const seen: unknown[] = [];
    const lost: boolean[] = [];
    await followEvents("http://localhost/events", {
      last: "end",
      signal: new AbortController().signal,
      onEvent: ({ data }) => seen.push(data),
      onLost: (isLost) => lost.push(isLost),
      pauseMs: 1,
    });
    expect(seen).toEqual([1, 2, 3, {}]);
    expect(asked).toEqual([null, "2", "2"]);
    expect(lost).toContain(true);
    expect(lost.at(-1)).toBe(false);
  });

  it("reports what no new attempt fixes", async () => {
    const error = { error: { code: "not_found", message: "Gone.", fix: "" }, request_id: "r" };
    vi.stubGlobal("fetch", async () => Response.json(error, { status: 404 }));
    const following = {
      last: "end",
      signal: new AbortController().signal,
      onEvent: () => undefined,
    };
    await expect(followEvents("http://localhost/events", following)).rejects.toMatchObject({
      code: "not_found",
      message: "Gone.",
      requestId: "r",
    });
  });
});
