import { describe, expect, it } from "vitest";
import { placeLabels, type Spot, textWidth } from "./labels";

const AREA = { width: 600, height: 300 };

function boxes(spots: Spot[]) {
  return placeLabels(spots, AREA).flatMap((label, index) => {
    if (!label) return [];
    const width = textWidth(spots[index]?.text ?? "");
    const left =
      label.anchor === "start"
        ? label.x
        : label.anchor === "end"
          ? label.x - width
          : label.x - width / 2;
    return [{ left, right: left + width, top: label.y - 10, bottom: label.y + 4 }];
  });
}

describe("placeLabels", () => {
  it("sets a label to the right of a point that stands alone", () => {
    expect(placeLabels([{ x: 100, y: 100, text: "hybrid" }], AREA)[0]?.anchor).toBe("start");
  });

  it("sets it to the left where the plot ends", () => {
    expect(placeLabels([{ x: 590, y: 100, text: "hybrid" }], AREA)[0]?.anchor).toBe("end");
  });

  it("covers no label with another, in the plot, and leaves out what has no room", () => {
    const spots = Array.from({ length: 40 }, (_, index) => ({
      x: 280 + (index % 5) * 7,
      y: 140 + Math.floor(index / 5) * 3,
      text: `retriever ${index}`,
    }));
    const found = boxes(spots);
    expect(found.length).toBeGreaterThan(2);
    expect(found.length).toBeLessThan(40);
    for (const [index, one] of found.entries()) {
      expect(one.left).toBeGreaterThanOrEqual(0);
      expect(one.right).toBeLessThanOrEqual(AREA.width);
      for (const other of found.slice(index + 1)) {
        const apart =
          one.right <= other.left ||
          other.right <= one.left ||
          one.bottom <= other.top ||
          other.bottom <= one.top;
        expect(apart).toBe(true);
      }
    }
  });

  it("takes Chinese letters for wider ones", () => {
    expect(textWidth("检索")).toBeGreaterThan(textWidth("ab"));
  });
});
