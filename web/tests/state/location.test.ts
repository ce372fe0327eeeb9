import { describe, expect, it } from "vitest";
import { addressOf, go, place, readPlace, setQuery } from "../../src/state/location";

describe("addresses", () => {
  it.each([
    ["handbook", "ask", { q: "Who? & 何时 #1", cite: 3 }],
    ["v1.2", "graph", { focus: "0af3" }],
    ["北/京", "library", {}],
    ["documents", "documents", { doc: "0a", start: 1, end: 2 }],
  ] as const)("of %s, %s are read as they were written", (workspace, page, query) => {
    const url = new URL(addressOf(workspace, page, query), "http://localhost");
    const read = readPlace(url.pathname, url.search);
    expect([read.workspace, read.page]).toEqual([workspace, page]);
    expect(Object.fromEntries(read.query)).toEqual(
      Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    );
  });

  it("leave out what is empty", () => {
    expect(addressOf("w", "ask", { q: "", r: null, mode: undefined, k: 0 })).toBe("/ui/w/ask?k=0");
  });

  it("of citations that other programs show lead to the document", () => {
    const read = readPlace("/ui/documents/0af3c9", "?ws=hand+book&chunk=1&start=5&end=9");
    expect([read.workspace, read.page]).toEqual(["hand book", "documents"]);
    expect(read.query.get("doc")).toBe("0af3c9");
    expect(read.query.has("ws")).toBe(false);
  });

  it("that say nothing known lead to the first page", () => {
    expect(readPlace("/ui/", "")).toMatchObject({ workspace: "", page: "ask" });
    expect(readPlace("/ui/w/nowhere", "")).toMatchObject({ workspace: "w", page: "ask" });
    expect(readPlace("/ui/%E0%A4%A/ask", "")).toMatchObject({ workspace: "%E0%A4%A", page: "ask" });
  });
});

describe("the state", () => {
  it("is the address: a part of it changes, the rest stays", () => {
    go("/ui/w/ask?q=why&cite=1");
    setQuery({ cite: 2 });
    expect(location.search).toBe("?q=why&cite=2");
    setQuery({ cite: null });
    expect(place.value.query.get("q")).toBe("why");
    expect(place.value.query.has("cite")).toBe(false);
  });

  it("stays as it is when a page that was left says something late", () => {
    go("/ui/w/ask?q=why");
    setQuery({ at: "0,0,150" }, { replace: true, on: "graph" });
    expect(location.pathname + location.search).toBe("/ui/w/ask?q=why");
    go("/ui/w/graph");
    setQuery({ at: "0,0,150" }, { replace: true, on: "graph" });
    expect(place.value.query.get("at")).toBe("0,0,150");
  });
});
