import { defineConfig } from "vite";

/** Builds the pages that are measured, and that nobody is served. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  build: { target: "es2022", rollupOptions: { input: "graph.html" } },
});
