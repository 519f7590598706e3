import optimizeLocales from '@react-aria/optimize-locales-plugin';
import { lingui } from '@lingui/vite-plugin';
import react from '@vitejs/plugin-react';
import { join } from 'node:path';
import { defineConfig } from 'vite';

/** The panel as static files: hashed assets, which never change, and index.html. */
export default defineConfig({
  root: import.meta.dirname,
  cacheDir: join(import.meta.dirname, '../.ravand/cache/vite-panel'),
  plugins: [
    lingui({
      configPath: join(import.meta.dirname, 'lingui.config.ts'),
      macroTransform: true,
      failOnMissing: true,
      failOnCompileError: true,
    }),
    react(),
    // React Aria has no Persian texts: the panel gives every label itself.
    { ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' },
  ],
  build: {
    outDir: join(import.meta.dirname, '../.ravand/panel'),
    emptyOutDir: true,
    manifest: 'manifest.json',
    // All styles are 7 kB.
    cssCodeSplit: false,
    // light-dark() and nesting stay as they are written.
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: ['index.html', 'src/first-paint.ts'].map((name) => join(import.meta.dirname, name)),
      output: {
        // What the first page needs is one request, and what members' pages share is another, not
        // one for each module: browsers fetch few at a time. The parts with libraries come with
        // the pages that show them.
        codeSplitting: {
          groups: [
            // Runs before and by itself: two short tasks, not a long one.
            { name: 'react', test: /node_modules\/(?:react|react-dom|scheduler)\// },
            { name: 'base', tags: ['$initial'], test: /^(?!.*first-paint)/ },
            {
              name: 'parts',
              test: /panel\/src\/shared\/(?!.*(?:calendar|time-chart|virtual-table|picture|texts))/,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: { '/api': { target: process.env['PANEL_API'] ?? 'http://localhost:8082' } },
  },
});
