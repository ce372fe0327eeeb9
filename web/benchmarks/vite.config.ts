import { defineConfig } from "vite";
import { traditional } from "../traditional.ts";

/** Builds the pages that are measured, and that nobody is served. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [traditional()],
  build: { target: "es2022", cssTarget: "chrome123", rollupOptions: { input: "graph.html" } },
});
