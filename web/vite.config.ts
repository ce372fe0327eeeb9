import { defineConfig } from "vitest/config";
import { traditional } from "./traditional.ts";

// The page's own name is passed on: the server answers no page of another origin.
const server = { target: process.env.KNOTWORK_URL ?? "http://127.0.0.1:8321", changeOrigin: false };

export default defineConfig({
  base: "/ui/",
  plugins: [traditional()],
  // Texts are looked up by name: one export for each would double them.
  json: { namedExports: false },
  build: {
    outDir: "../src/knotwork/_extensions/server/web",
    emptyOutDir: true,
    target: "es2022",
    // The first with `light-dark()`.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Everything is a file of its own: the pages' policy lets no data address be a script or style.
    assetsInlineLimit: 0,
    // The notices that the licences of the libraries ask for, in the wheel with them.
    license: { fileName: "licences.md" },
    chunkSizeWarningLimit: 1500,
  },
  server: {
    port: Number(process.env.PORT ?? 5173),
    strictPort: true,
    proxy: { "/api": server, "/health": server, "/v1": server },
  },
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts"] },
});
