import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PARTS } from './parts.ts';
import { settingsDocument } from './settings-table.ts';

it('docs/settings.md is what the code reads: run node docs/generate/write-settings.ts', () => {
  expect(readFileSync(join(import.meta.dirname, '../settings.md'), 'utf8')).toBe(
    settingsDocument(PARTS),
  );
});

it('refuses two parts that describe one name differently', () => {
  const setting = {
    parse: (text: string) => text,
    fallback: '',
    fallbackText: '',
    unit: 'text',
    doc: 'one',
    secret: false,
  };
  expect(() =>
    settingsDocument([
      { part: 'a', table: { X: setting } },
      { part: 'b', table: { X: { ...setting, doc: 'two' } } },
    ]),
  ).toThrow(/X: b and a describe it differently/);
});
