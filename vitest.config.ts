import { defineConfig } from 'vitest/config';
import { LongestFirst } from './deploy/local/test-run/longest-first.ts';
import { recordOutsideError } from './deploy/local/test-run/outside-errors.ts';
import { testTimeout } from './test/support/test-timeout.ts';

const slow = {
  ...{ testTimeout: testTimeout(120_000), hookTimeout: testTimeout(120_000) },
  expect: { poll: { timeout: testTimeout(20_000) } },
};

/**
 * Unit tests are in the folder of the code and need no stack; the others use the running stack of
 * RAVAND_HOME (started by `./ravand test`).
 */
export default defineConfig({
  cacheDir: '.ravand/cache/vite',
  test: {
    onUnhandledError: (error) => recordOutsideError(error),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{eslint,schemas,events,platform,ingest,audiences,messaging,account-api,panel,cli,ops,ingest-gateway,pipeline,projections,management-api,control-plane,deploy,bench,sdk}/**/*.test.ts',
            'test/documents/**/*.test.ts',
          ],
          // Far above what any takes: other work on the machine must not end one.
          ...{ testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } },
          // By default a core is left to the main process, which mostly waits.
          maxWorkers: '100%',
          // A process of its own for each file takes 1.7 times the CPU for the whole.
          isolate: process.env['RAVAND_TEST_ISOLATE'] === '1',
          setupFiles: 'test/support/restore-globals.ts',
        },
      },
      ...['contract', 'integration', 'browser', 'guarantees'].map((name) => ({
        test: {
          name,
          include: [`test/${name}/**/*.test.ts`],
          // Contract tests mostly wait, each file for accounts of its own.
          ...(name === 'contract'
            ? { maxWorkers: 3, sequence: { groupOrder: 1 } }
            : { fileParallelism: false }),
          globalSetup: 'test/support/commands/global-setup.ts',
          ...slow,
        },
      })),
    ],
  },
});
