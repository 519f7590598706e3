import { defineConfig } from '@lingui/cli';
import { formatter } from '@lingui/format-po';
import { join } from 'node:path';

const SRC = join(import.meta.dirname, 'src');

/**
 * Persian is written in the code; English is in the .po files. Each feature has a catalogue of its
 * own, which is loaded with its page.
 */
export default defineConfig({
  sourceLocale: 'fa',
  locales: ['fa', 'en'],
  rootDir: SRC,
  catalogs: [
    ...['app', 'shared'].map((folder) => ({
      path: `<rootDir>/${folder}/texts/{locale}`,
      include: [`<rootDir>/${folder}`],
      exclude: ['**/*.test.ts'],
    })),
    {
      path: '<rootDir>/features/{name}/texts/{locale}',
      include: ['<rootDir>/features/{name}'],
      exclude: ['**/*.test.ts'],
    },
  ],
  format: formatter({ lineNumbers: false, origins: false }),
  compileNamespace: 'ts',
});
