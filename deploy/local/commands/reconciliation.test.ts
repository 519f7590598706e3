import { expect, it } from 'vitest';
import { commandLines, messageLines } from './reconciliation.ts';

it('status shows the books of commands, and what is missing in the log', () => {
  expect(commandLines({ accepted: 1234, applied: 1230, missing: 4 })).toEqual([
    'commands of channels: accepted 1,234, applied 1,230, missing 4',
  ]);
});

it('status shows the balance of messages, and where it is wrong', () => {
  const totals = {
    planned: 1234,
    sent: 1000,
    failed: 4,
    withheld: 100,
    skipped: 30,
    in_flight: 100,
  };
  const balanced = { totals, gap: 0, runs: [], accounts: [] };
  const line =
    'messages of campaigns: planned 1,234 = sent 1,000 + failed 4 + withheld 100 + skipped 30 + in flight 100';
  expect(messageLines(balanced)).toEqual([line]);
  const runs = [{ id: 7, gap: 1 }];
  const accounts = [
    { id: 1, gap: 2000 },
    { id: 2, gap: 1 },
  ];
  expect(messageLines({ ...balanced, gap: 2001, runs, accounts })).toEqual([
    line,
    '! the sum differs from planned by 2,001 messages',
    '! differs in accounts 1 (2,000), 2 (1)',
    '! differs in runs 7 (1)',
  ]);
});
