import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ATTRIBUTES, BANDS, METRICS } from './attributes.ts';
import { readAudience } from './read.ts';

const page = readFileSync(join(import.meta.dirname, '../docs/audiences.md'), 'utf8');
const examples = [...page.matchAll(/```json\n([^`]+)```/g)].map((match) => match[1] ?? '');

it('every example of docs/audiences.md compiles', () => {
  expect(examples.length).toBeGreaterThan(4);
  for (const example of examples)
    expect(readAudience(JSON.parse(example)), example).toMatchObject({ ok: true });
});

it('docs/audiences.md names every attribute with its operators, every metric and every band', () => {
  for (const [name, { operators }] of Object.entries(ATTRIBUTES)) {
    const row =
      page
        .split('\n')
        .find((line) => line.startsWith('|') && new RegExp(`\\b${name}\\b`).test(line)) ?? '';
    for (const operator of operators) expect(row, name).toMatch(new RegExp(`\\b${operator}\\b`));
  }
  for (const name of [...Object.keys(METRICS), ...BANDS])
    expect(page).toMatch(new RegExp(`^\\|.*\\b${name}\\b.*\\|.*\\|$`, 'm'));
});
