import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SERVICE_NAMES } from '../../schemas/topology.ts';
import { allSettings } from './all-settings.ts';
import { envExample, settingsPage } from './settings-page.ts';

const readers = await allSettings();
const textOf = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

describe('the pages that node deploy/generate/write.ts writes', () => {
  it('list in docs/settings.md the settings that the code reads', () => {
    expect(textOf('docs/settings.md')).toBe(settingsPage(readers));
  });

  it('list in .env.example every setting with its default', () => {
    expect(textOf('.env.example')).toBe(envExample(readers));
  });

  it('have settings of every service of the topology', () => {
    expect(readers.map(({ reader }) => reader)).toEqual(expect.arrayContaining([...SERVICE_NAMES]));
    for (const { reader, table } of readers) expect(Object.keys(table), reader).not.toHaveLength(0);
  });

  it('cannot be written when two readers describe one setting differently', () => {
    const setting = {
      parse: (text: string) => text,
      fallback: '',
      fallbackText: '',
      unit: 'text',
      doc: 'one',
      secret: false,
    };
    const table = { X: setting };
    const other = { X: { ...setting, doc: 'two' } };
    expect(() =>
      settingsPage([
        { reader: 'a', table },
        { reader: 'b', table: other },
      ]),
    ).toThrow(/X: b and a describe it differently/);
  });
});
