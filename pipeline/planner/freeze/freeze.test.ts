import { describe, expect, it } from 'vitest';
import type { LeasedRun } from '../run.ts';
import type { FreezeQuery } from './compile.ts';
import { AudienceTooLarge, freezeAudience, type FreezePorts } from './freeze.ts';

const NOW = Date.UTC(2026, 10, 23);
const TEHRAN = { attribute: 'city', op: 'eq', value: 'تهران' };
const SHIRAZ = { attribute: 'city', op: 'eq', value: 'شیراز' };

/** What a freeze of this definition asks of its ports. */
async function freeze(
  definition: unknown,
  options: {
    segments?: Record<number, unknown>;
    attempt?: number;
    freezeRows?: FreezePorts['freezeRows'];
    isHeld?: boolean;
  } = {},
) {
  const { segments = {}, attempt = 1, isHeld = true } = options;
  const asked = { queries: [] as FreezeQuery[], recorded: [] as unknown[], errors: [] as string[] };
  const run: LeasedRun = {
    ...{ id: 7, campaignId: 3, accountId: 1, definition, fence: 1, freezeAttempt: attempt },
    ...{ frozen: undefined, chunks: 0, lastKey: '' },
  };
  const freezeRows = (query: FreezeQuery) => {
    asked.queries.push(query);
    return Promise.resolve({ people: 12, identitiesRevision: 4 });
  };
  const ports: FreezePorts = {
    store: {
      recordFrozen: (_, frozen) => {
        asked.recorded.push(frozen);
        return Promise.resolve(isHeld);
      },
      fail: (_, error) => {
        asked.errors.push(error);
        return Promise.resolve(isHeld);
      },
    },
    findSegment: (accountId, id) => Promise.resolve(accountId === 1 ? segments[id] : undefined),
    freezeRows: options.freezeRows ?? freezeRows,
    now: () => NOW,
  };
  return { outcome: await freezeAudience(run, ports, new AbortController().signal), ...asked };
}

describe('the audience of a run', () => {
  it('is the definition of the campaign, as of now', async () => {
    const { outcome, queries, recorded } = await freeze({ audience: TEHRAN, control_percent: 20 });
    expect(outcome).toBe('frozen');
    expect(queries).toMatchObject([
      {
        ...{ accountId: 1, campaignId: 3, runId: 7, attempt: 1, percent: 20, at: NOW },
        audience: { kind: 'attribute', name: 'city' },
      },
    ]);
    expect(recorded).toEqual([
      { at: NOW, people: 12, frozen: { audience: TEHRAN, identities_revision: 4 } },
    ]);
  });

  it('is the segment as it is when the run starts, and nobody is withheld by default', async () => {
    const { queries, recorded } = await freeze({ segment_id: 5 }, { segments: { 5: SHIRAZ } });
    expect(queries).toMatchObject([{ percent: 0 }]);
    expect(recorded).toMatchObject([{ frozen: { audience: SHIRAZ } }]);
  });

  it.each([
    ['the segment was removed', { segment_id: 6 }, 'The segment 6 does not exist any more.'],
    [
      'this version cannot read the definition',
      { audience: { attribute: 'shoe_size', op: 'eq', value: 43 } },
      "The audience cannot be computed: segment: unknown attribute 'shoe_size' at $.attribute",
    ],
    ['there is none', {}, 'The campaign has neither a segment nor an audience.'],
  ])('makes the run fail with a sentence when %s', async (_, definition, sentence) => {
    const { outcome, errors, queries } = await freeze(definition, { segments: { 5: TEHRAN } });
    expect({ outcome, errors, queries }).toEqual({
      ...{ outcome: 'failed', errors: [sentence], queries: [] },
    });
  });

  it('that ends at a limit of ClickHouse is tried five times, then the run fails', async () => {
    const freezeRows = () => Promise.reject(new AudienceTooLarge('memory'));
    const tooLarge = (attempt: number) => freeze({ audience: TEHRAN }, { attempt, freezeRows });
    await expect(tooLarge(4)).rejects.toThrow(AudienceTooLarge);
    const { outcome, errors } = await tooLarge(5);
    expect(outcome).toBe('failed');
    expect(errors).toEqual([expect.stringContaining('Narrow it')]);
  });

  it('waits while ClickHouse does not answer, however often', async () => {
    const freezeRows = () => Promise.reject(new Error('ECONNREFUSED'));
    await expect(freeze({ audience: TEHRAN }, { attempt: 50, freezeRows })).rejects.toThrow(
      'ECONNREFUSED',
    );
  });

  it('is nobody’s business any more when another process has the run', async () => {
    expect(await freeze({ audience: TEHRAN }, { isHeld: false })).toMatchObject({
      outcome: 'lost',
    });
    expect(await freeze({}, { isHeld: false })).toMatchObject({ outcome: 'lost' });
  });
});
