// @vitest-environment node
import { readFile } from "node:fs/promises";
import openapiTS, { astToString, COMMENT_HEADER, type OpenAPI3 } from "openapi-typescript";
import { expect, it } from "vitest";

it("has the types of the server's own description: else, npm run schema", async () => {
  const read = (name: string) => readFile(new URL(name, import.meta.url), "utf8");
  const described = JSON.parse(await read("../../openapi.json")) as OpenAPI3;
  const made = astToString(await openapiTS(described, { alphabetize: true }));
  expect(await read("./schema.ts")).toBe(`${COMMENT_HEADER}${made}`);
}, 30_000);
