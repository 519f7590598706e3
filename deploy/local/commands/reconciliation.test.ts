import { expect, it } from 'vitest';
import { commandLines } from './reconciliation.ts';

it('status shows the books of commands, and what is missing in the log', () => {
  expect(commandLines({ accepted: 1234, applied: 1230, missing: 4 })).toEqual([
    'commands of channels: accepted 1,234, applied 1,230, missing 4',
  ]);
});
