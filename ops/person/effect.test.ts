import { expect, it } from 'vitest';
import { applyAliases } from '../../projections/identities/apply-aliases.ts';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import { InMemoryIdentities } from '../../projections/identities/testing/in-memory-store.ts';
import { effectOf } from './effect.ts';

function fact(previousId: string, userId: string, offset: number): AliasFact {
  const order = { receivedAt: offset, epoch: 0, partition: 0, offset, index: 0 };
  return { previousId, userId, order };
}

it('a dry run of a split names every distinct id that changes its person, and stores nothing', async () => {
  const store = new InMemoryIdentities();
  const aliases = [
    fact('phone', 'tablet', 1),
    fact('tablet', 'sara', 2),
    fact('tablet', 'reza', 3),
  ];
  await applyAliases(store, 1, aliases);
  const revision = store.revision;
  const pair = { previousId: 'tablet', userId: 'sara', decidedAt: 9 };
  expect(await effectOf(store, 1, { kind: 'keep_apart', ...pair })).toEqual([
    { distinctId: 'phone', from: 'sara', to: 'reza' },
    { distinctId: 'tablet', from: 'sara', to: 'reza' },
  ]);
  expect(await effectOf(store, 1, { kind: 'rejoin', ...pair })).toEqual([]);
  expect(store.revision).toBe(revision);
  expect(store.rows.get('phone')?.canonicalId).toBe('sara');
});
