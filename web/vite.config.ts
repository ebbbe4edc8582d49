import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One module and one style sheet, which the Python package carries: nothing is asked from elsewhere.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/plausible/plotting/static",
    emptyOutDir: false,
    cssCodeSplit: false,
    // Vite leaves the white space of modules alone, for other builds to come; none comes after this one.
    rolldownOptions: { output: { minify: true } },
    lib: { entry: { widget: "src/widget.ts" }, formats: ["es"], cssFileName: "widget" },
  },
});
