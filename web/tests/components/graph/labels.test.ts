import { describe, expect, it } from "vitest";
import { LABEL_HEIGHT, placeLabels } from "../../../src/components/graph/labels";

describe("labels", () => {
  it("overlap neither each other nor dots", () => {
    const items = Array.from({ length: 300 }, (_, index) => ({
      text: `entity ${index}`,
      x: (index * 137) % 900,
      y: (index * 61) % 500,
      radius: 5,
    }));
    const labels = [...placeLabels(items, (text) => 6 * text.length)].filter(
      (label) => label !== null,
    );
    const boxes = [
      ...labels.map(({ x, y, width }) => [x - width / 2, x + width / 2, y - 7, y + 7] as const),
      ...items.map(({ x, y, radius }) => [x - radius, x + radius, y - radius, y + radius] as const),
    ];
    expect(labels.length).toBeGreaterThan(40);
    const overlapping = boxes
      .slice(0, labels.length)
      .filter((one, index) =>
        boxes
          .slice(index + 1)
          .some(
            (other) =>
              one[0] < other[1] && one[1] > other[0] && one[2] < other[3] && one[3] > other[2],
          ),
      );
    expect(overlapping).toEqual([]);
    expect(LABEL_HEIGHT).toBeGreaterThanOrEqual(14);
  });

  it("go to the first items if there is no room for all", () => {
    const items = Array.from({ length: 20 }, (_, index) => `name ${index}`).map((text) => ({
      text,
      x: 100,
      y: 100,
      radius: 3,
    }));
    const labels = [...placeLabels(items, () => 40)].filter((label) => label !== null);
    expect(labels.length).toBeLessThan(10);
    expect(labels.map(({ text }) => text)).toEqual(
      items.slice(0, labels.length).map(({ text }) => text),
    );
  });
});
