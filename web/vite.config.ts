import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One module and one style sheet for each page, which the Python package carries: nothing is asked from elsewhere.
const PAGES = {
  widget: { entry: "src/widget.ts", folder: "../src/plausible/plotting/static" },
  studio: { entry: "src/studio/studio.ts", folder: "../src/plausible/studio/static" },
};

export default defineConfig(({ mode }) => {
  const name = mode === "studio" ? "studio" : "widget";
  return {
    plugins: [svelte()],
    build: {
      outDir: PAGES[name].folder,
      emptyOutDir: false,
      cssCodeSplit: false,
      // Vite leaves the white space of modules alone, for other builds to come; none comes after this one.
      rolldownOptions: { output: { minify: true } },
      lib: { entry: { [name]: PAGES[name].entry }, formats: ["es"], cssFileName: name },
    },
  };
});
