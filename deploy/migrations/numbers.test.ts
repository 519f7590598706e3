import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('Each migration of PostgreSQL has a number of its own: it names the order', () => {
  const numbers = readdirSync(join(import.meta.dirname, 'postgres')).map((file) =>
    file.slice(0, file.indexOf('_')),
  );
  expect(numbers).toEqual([...new Set(numbers)]);
  for (const number of numbers) expect(number).toMatch(/^\d{4}$/);
});
