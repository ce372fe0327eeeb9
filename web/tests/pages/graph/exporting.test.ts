import { describe, expect, it } from "vitest";
import { writeGraphml, writeSvg } from "../../../src/pages/graph/exporting";

const palette = {
  background: "#ffffff",
  text: "#000000",
  muted: "#555555",
  line: "#eeeeee",
  strongLine: "#cccccc",
  data: ["#0f766e"],
  other: "#7b7f85",
  font: "sans-serif",
};
const hostile = `</text><script>alert("x")</script>&\u0001`;
const entity = {
  id: "a",
  name: hostile,
  type: "PERSON",
  x: 1,
  y: 2,
  importance: 1,
  chunks: 3,
  degree: 1,
  step: 0,
  community: null,
};

describe("exports", () => {
  it("write names as text, whatever they are", () => {
    const entities = [entity, { ...entity, id: "b", name: "B" }];
    const relations = [{ source: "a", target: "b", name: "is", weight: 2, isStated: true }];
    const text = writeGraphml({ entities, relations }, []);
    expect(text.match(/<node /g)?.length).toBe(2);
    expect(text.match(/<edge /g)?.length).toBe(1);
    expect(text).not.toContain("<script");
    expect(text).toContain(
      '<data key="node_name">&lt;/text&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;</data>',
    );
    expect(text).toContain('<edge source="a" target="b">');
  });

  it("draw what is on the screen", () => {
    const dot = {
      id: "a",
      label: hostile,
      x: 5,
      y: 0,
      radius: 4,
      color: "#000",
      type: "",
      share: 1,
    };
    const line = { source: "a", target: "z", width: 1, color: "#000", share: 1 };
    const layout = {
      size: [200, 100] as const,
      places: new Map([["a", [150, 50, 4] as const]]),
      labels: [{ text: hostile, x: 150, y: 62, width: 30 }],
    };
    const text = writeSvg({ dots: [dot], lines: [line] }, layout, palette);
    expect(text).not.toContain("<line"); // one of its ends is not drawn
    expect(text).not.toContain("<script");
    expect(text).toContain('<circle cx="150" cy="50"');
  });
});
