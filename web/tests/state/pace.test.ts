import { describe, expect, it } from "vitest";
import { follow, type Pace, type Sample } from "../../src/state/pace";

const NONE = { done: 0, total: 1, bytes: 0, bytesTotal: 0, chunks: 0, expected: 0 };

function run(samples: readonly (Partial<Sample> & { seconds: number })[]): Pace | null {
  let pace: Pace | null = null;
  for (const sample of samples) pace = follow(pace, { ...NONE, stage: "load", ...sample });
  return pace;
}

const even = (from: number, to: number, of: number, stage = "load") =>
  Array.from({ length: to - from + 1 }, (_, n) => ({
    seconds: from + n,
    stage,
    bytes: ((from + n) / of) * 1e6,
    bytesTotal: 1e6,
    chunks: from + n,
    expected: of,
  }));

describe("the time that is left", () => {
  it("is what the rest takes at the pace so far", () => {
    expect(run(even(0, 30, 60))?.leftS).toBeCloseTo(30, 0);
  });

  it("is not said before there is work to judge by", () => {
    expect(run(even(0, 2, 60))?.leftS).toBeNull();
    expect(run(even(0, 30, 60).map((one) => ({ ...one, chunks: 0 })))?.leftS).toBeNull();
  });

  it("goes by the slower of reading and finishing passages", () => {
    const read = even(0, 30, 60).map((one) => ({ ...one, bytes: 1e6 }));
    expect(run(read)?.leftS).toBeCloseTo(30, 0);
  });

  it("does not count the time in which a model is loaded", () => {
    const later = even(1, 30, 60).map((one) => ({ ...one, seconds: one.seconds + 20 }));
    expect(run([{ seconds: 0 }, { seconds: 1, stage: "model" }, ...later])?.leftS).toBeCloseTo(
      30,
      0,
    );
  });

  it("is not shown where it would double what was said before", () => {
    const stuck = Array.from({ length: 200 }, (_, n) => ({
      ...even(30, 30, 60)[0],
      seconds: 31 + n,
    }));
    let pace: Pace | null = null;
    const shown: number[] = [];
    for (const sample of [...even(0, 30, 60), ...stuck]) {
      pace = follow(pace, { ...NONE, stage: "load", ...sample });
      if (sample.seconds >= 20 && pace.leftS !== null) shown.push(Math.max(pace.leftS, 10));
    }
    const lowest = Math.min(...shown);
    expect(Math.max(...shown.slice(shown.indexOf(lowest)))).toBeLessThan(2 * lowest);
    expect(pace?.leftS).toBeNull();
  });

  it("of a real job falls, never doubles, and is not shown at the end", () => {
    let pace: Pace | null = null;
    const shown: number[] = [];
    for (const row of HANDBOOK.trim().split("\n")) {
      const [seconds, stage = "", ...counts] = row.split(" ");
      const [done = 0, total = 0, bytes = 0, bytesTotal = 0, chunks = 0, expected = 0] =
        counts.map(Number);
      const at = Number(seconds);
      pace = follow(pace, { seconds: at, stage, done, total, bytes, bytesTotal, chunks, expected });
      if (at >= 20 && pace.leftS !== null) shown.push(Math.max(pace.leftS, 10));
    }
    expect(shown.length).toBeGreaterThan(8);
    const rises = shown.map((left, index) => left / Math.min(...shown.slice(0, index + 1)));
    expect(Math.max(...rises)).toBeLessThan(1.2);
    expect(pace?.leftS).toBeNull();
  });
});

/** A job of 127 files of HTML on two busy cores: seconds, stage, files, bytes, passages. */
const HANDBOOK = `
18.5 discover 0 127 0 0 0 0
21.1 load 0 127 29289 2312376 0 2312
24.2 store 1 127 83684 2312376 76 2140
26.8 load 1 127 348567 2312376 76 1421
29.4 embed 2 127 398110 2312376 188 1421
32.0 load 12 127 760157 2312376 188 1513
35.7 embed 12 127 946922 2312376 316 1552
38.7 store 13 127 946922 2312376 412 1552
41.4 load 50 127 1198983 2312376 689 1601
44.0 load 50 127 1382009 2312376 689 1620
47.0 store 51 127 1382009 2312376 817 1620
50.7 store 63 127 1382009 2312376 931 1620
53.4 embed 71 127 1783330 2312376 1059 1646
56.4 embed 84 127 1783330 2312376 1187 1646
59.0 load 92 127 1904024 2312376 1192 1648
62.5 embed 92 127 1984364 2312376 1256 1641
65.0 embed 97 127 1984364 2312376 1352 1641
68.4 store 98 127 1984364 2312376 1407 1641
71.3 embed 111 127 2312376 2312376 1567 1647
74.0 store 112 127 2312376 2312376 1647 1647
74.2 communities 0 0 0 0 0 0
`;
