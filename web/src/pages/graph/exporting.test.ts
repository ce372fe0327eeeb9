import { describe, expect, it } from "vitest";
import { writeGraphml, writeSvg } from "./exporting";

const palette = {
  background: "#ffffff",
  surface: "#ffffff",
  text: "#000000",
  muted: "#555555",
  faint: "#666666",
  line: "#eeeeee",
  strongLine: "#cccccc",
  accent: "#0f6e63",
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
  chunks: 3,
  community: null,
};
const community = {
  id: "c",
  title: "C",
  parent: null,
  level: 0,
  x: 0,
  y: 0,
  radius: 1,
  size: 2,
  matching: 2,
  children: 0,
  colour: 0,
};
const relation = { id: "a b is", source: "a", target: "b", name: "is", weight: 2 };

describe("exports", () => {
  it("write names as text, whatever they are", () => {
    const scene = {
      communities: [community, { ...community, id: "open" }, { ...community, id: "d" }],
      open: new Set(["open"]),
      entities: [entity, { ...entity, id: "b", name: "B" }],
      relations: [relation],
      lines: [],
      left: 0,
    };
    const ties = [
      { source: "c", target: "d", weight: 3 },
      { source: "c", target: "open", weight: 1 },
    ];
    const text = writeGraphml(scene, ties);
    expect(text.match(/<node /g)?.length).toBe(4);
    expect(text.match(/<edge /g)?.length).toBe(2);
    expect(text).not.toContain("<script");
    expect(text).toContain(
      '<data key="node_name">&lt;/text&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;</data>',
    );
    expect(text).toContain('<edge source="a" target="b">');
  });

  it("draw what is on the screen", () => {
    const view = { x: 0, y: 0, scale: 10, width: 200, height: 100 };
    const node = { id: "a", label: hostile, x: 5, y: 0, size: 4, color: "#000000" };
    const edge = { id: "e", source: "a", target: "z", label: "", width: 1, color: "#000000" };
    const text = writeSvg(
      view,
      { circles: [], links: [] },
      { nodes: [node], edges: [edge] },
      palette,
    );
    expect(text).not.toContain("<line"); // one of its ends is not drawn
    expect(text).not.toContain("<script");
    expect(text).toContain('<circle cx="150" cy="50"');
  });
});
