import { describe, expect, it } from 'vitest';
import type { Operation } from '../../platform/operations/operation.ts';
import { parseReplayLine } from '../replay/request.ts';
import { parseRebuildLine } from '../rebuild/request.ts';
import { parseEraseLine } from '../erase/request.ts';
import { commandOf, mayRepeat } from './command-of.ts';

const line = (operation: Operation, accountId: number | undefined = 7) =>
  commandOf(operation, { accountId, isRepeated: false });

const OF_INSTALLATION = { accountId: undefined, isRepeated: false };

describe('the command of an operation', () => {
  it('of dead letters names the account, so that those of others stay as they are', () => {
    expect(line({ kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: true } })).toEqual(
      ['dlq', 'redrive', 'ab12', '--account=7', '--dry-run', '--json'],
    );
    expect(() =>
      commandOf(
        { kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: true } },
        OF_INSTALLATION,
      ),
    ).toThrow('without an account');
  });

  it('takes no option from the id of a person', () => {
    const erase = line({
      kind: 'person.erase',
      input: { user_id: '--force', dry_run: true },
    });
    expect(parseEraseLine(erase.slice(1)).values).toEqual({
      ...{ account: '7', 'user-id': ['--force'], 'dry-run': true, json: true },
    });
    const split = line({
      kind: 'person.split',
      input: { name: '--reason', from: '-x', dry_run: false },
    });
    expect(split).toEqual([
      ...['person', '--account=7', '--from=-x', '--json', '--', 'split', '--reason'],
    ]);
  });

  it('of a replay and a rebuild is one that the commands understand', () => {
    const replay = commandOf(
      {
        kind: 'log.replay',
        input: {
          ...{ topic: 'events.raw', dry_run: true, account_id: 9 },
          ...{ from: '2026-11-22T00:00:00.000Z', to: '2026-11-23T00:00:00.000Z' },
        },
      },
      OF_INSTALLATION,
    );
    expect(parseReplayLine(replay.slice(1))).toMatchObject({
      ...{ dryRun: true, json: true },
      request: { topic: 'events.raw', account: 9, from: Date.UTC(2026, 10, 22) },
    });
    const swap = commandOf(
      { kind: 'projection.rebuild', input: { projection: 'profiles', step: 'swap' } },
      OF_INSTALLATION,
    );
    expect(parseRebuildLine(swap.slice(1))).toMatchObject({
      ...{ projection: 'profiles', compare: true, swap: true, acceptGaps: false, json: true },
    });
    for (const step of ['undo', 'cancel', 'compare'] as const)
      expect(() =>
        parseRebuildLine(
          commandOf(
            { kind: 'projection.rebuild', input: { projection: 'events', step } },
            OF_INSTALLATION,
          ).slice(1),
        ),
      ).not.toThrow();
  });

  it('of an erasure goes on after a killed process, also when it had removed everything', () => {
    const erase = (dry_run: boolean) =>
      commandOf(
        { kind: 'person.erase', input: { user_id: 'sara', dry_run } },
        { accountId: 7, isRepeated: true },
      );
    expect(erase(false)).toContain('--force');
    expect(erase(true)).not.toContain('--force');
  });

  it('is not repeated where it would go one step further back', () => {
    const restore = (dry_run: boolean) =>
      mayRepeat({ kind: 'dead_letters.restore', input: { group: 'ab12', dry_run } });
    expect([restore(false), restore(true)]).toEqual([false, true]);
    const rebuild = (step: 'undo' | 'swap') =>
      mayRepeat({ kind: 'projection.rebuild', input: { projection: 'events', step } });
    expect([rebuild('undo'), rebuild('swap')]).toEqual([false, true]);
    expect(
      mayRepeat({ kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: false } }),
    ).toBe(true);
  });
});
