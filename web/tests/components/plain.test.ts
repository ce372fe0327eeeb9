import { describe, expect, it } from "vitest";
import { plainText } from "../../src/components/plain";

describe("plain text", () => {
  it("has no marks of headings, code, quotes and tables", () => {
    const text = "## Steps\n\n```sh\nls\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n> **so**";
    expect(plainText(text)).toBe("Steps\n\nls\n\na · b\n1 · 2\nso");
  });

  it("keeps what only looks like them", () => {
    expect(plainText("#1 of 3 | 4 > 2")).toBe("#1 of 3 | 4 > 2");
  });
});
