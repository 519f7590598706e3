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
    // light-dark() and nesting stay as they are written.
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // What the first page needs is one request, not one for each shared module.
        codeSplitting: { groups: [{ name: 'base', tags: ['$initial'] }] },
      },
    },
  },
  server: {
    proxy: { '/api': { target: process.env['PANEL_API'] ?? 'http://localhost:8082' } },
  },
});
