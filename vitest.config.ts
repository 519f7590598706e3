import { defineConfig } from 'vitest/config';

const slow = { testTimeout: 120_000, hookTimeout: 120_000 };

/**
 * Unit tests stand beside the code and need nothing; the others find a running stack through
 * RAVAND_HOME (`./ravand test` brings it).
 */
export default defineConfig({
  cacheDir: '.ravand/cache/vite',
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{eslint,schemas,events,platform,ingest,cli,ops,ingest-gateway,pipeline,projections,management-api,control-plane,deploy,bench}/**/*.test.ts',
          ],
          testTimeout: 30_000,
        },
      },
      ...['contract', 'integration', 'guarantees'].map((name) => ({
        test: { name, include: [`test/${name}/**/*.test.ts`], fileParallelism: false, ...slow },
      })),
    ],
  },
});
