import { describe, expect, it } from 'vitest';
import type { KnownLetter } from '../dlq/dead-letter-store.ts';
import type { Evidence, RawSighting, StoredRow } from './evidence.ts';
import { explain } from './explain.ts';

const NOW = Date.UTC(2026, 10, 21);
const known = <T>(value: T) => ({ known: true, value }) as const;
const away = { known: false, why: 'ClickHouse does not answer (refused)' } as const;
const place = { epoch: 0, partition: 1, offset: 70, index: 2 };
const row: StoredRow = {
  ...place,
  event: 'paid',
  type: 'track',
  user_id: 'u',
  anonymous_id: '',
  timestamp: NOW - 5000,
  received_at: NOW - 4000,
};
const sighting: RawSighting = {
  ...place,
  ...{
    appendedAt: NOW - 4000,
    receivedAt: NOW - 4000,
    timestamp: NOW - 5000,
    path: '/v1/track',
    source: 'sdk',
    trace: 'ab',
    gateway: 'g',
    generated: false,
  },
  ...{ redrivenFrom: undefined, name: 'u' },
};
const nothing: Evidence = {
  ...{
    messageId: 'm',
    accountId: 7,
    now: NOW,
    retention: known(365),
    claim: known(undefined),
    spooled: known(0),
    rows: known([]),
  },
  ...{
    raw: known({ found: [], searched: 'events.raw', complete: true }),
    verdicts: known(new Map()),
    letters: known([]),
    normalised: known(undefined),
  },
  ...{
    progress: known({ normaliser: 100, groups: new Map([['events-sink', 50]]) }),
    profile: known(undefined),
    canonical: known(undefined),
    deliveries: known(undefined),
  },
};
const inRaw: Evidence = {
  ...nothing,
  raw: known({ found: [sighting], searched: 'events.raw 1', complete: true }),
};
const stored: Evidence = {
  ...inRaw,
  rows: known([row]),
  normalised: known(40),
  profile: known({ ...place, offset: 71 }),
};
const station = (evidence: Evidence, name: string) =>
  explain(evidence).stations.find((one) => one.station === name);

describe('why', () => {
  it('follows a stored event through every station', () => {
    const { verdict, stations } = explain(stored);
    expect(verdict).toBe('stored once');
    expect(stations.filter(({ state }) => state === 'done').map((one) => one.station)).toEqual(
      expect.arrayContaining(['gateway', 'raw log', 'normaliser', 'row', 'profile', 'identity']),
    );
  });

  it('says which other places of the message are duplicates', () => {
    const again = { ...sighting, offset: 90, index: 0 };
    const evidence = {
      ...stored,
      raw: known({ found: [sighting, again], searched: '', complete: true }),
      verdicts: known(new Map([['0/1/90/0', 'duplicate' as const]])),
    };
    expect(station(evidence, 'dedupe')?.message).toContain('1/90/0: duplicate');
  });

  it('tells what is under way from what is lost', () => {
    expect(
      explain({ ...inRaw, progress: known({ normaliser: 60, groups: new Map() }) }).verdict,
    ).toContain('under way');
    expect(
      station({ ...inRaw, progress: known({ normaliser: 60, groups: new Map() }) }, 'normaliser')
        ?.message,
    ).toContain('11 records');
    const normalised = { ...inRaw, normalised: known(50) };
    expect(explain(normalised).verdict).toContain('under way');
    expect(station(normalised, 'row')?.state).toBe('waiting');
    expect(explain(inRaw).verdict).toContain('has no row');
  });

  it('names the dead letter and the way to it', () => {
    const letter = {
      letter: 'events.raw/1/70/2',
      reason: 'item_missing',
      state: 'dead',
      fingerprint: 'abcd',
      note: null,
      redriven_to: null,
      partition: 1,
    } as KnownLetter;
    expect(explain({ ...inRaw, letters: known([letter]) }).verdict).toBe(
      'dead: item_missing, letter events.raw/1/70/2; ./ravand dlq show abcd',
    );
    expect(
      explain({
        ...inRaw,
        letters: known([{ ...letter, state: 'discarded', note: 'test traffic' }]),
      }).verdict,
    ).toContain('test traffic');
    expect(
      explain({ ...stored, letters: known([{ ...letter, state: 'redriven', redriven_to: 80 }]) })
        .verdict,
    ).toBe('stored once');
  });

  it('tells an event that expired, by the shorter of 400 days and what the account keeps', () => {
    const old = { ...sighting, timestamp: NOW - 380 * 86_400_000 };
    const evidence = { ...inRaw, raw: known({ found: [old], searched: '', complete: true }) };
    expect(explain(evidence).verdict).toContain('the account keeps 365 days');
    expect(explain({ ...evidence, retention: known(0) }).verdict).not.toContain('expired');
  });

  it('knows events that wait in a spool, and those of which there is no trace', () => {
    const spooled = {
      ...nothing,
      claim: known({ state: 'durable', expires: NOW } as const),
      spooled: known(4),
    };
    expect(explain(spooled).verdict).toContain('spool');
    expect(station(spooled, 'gateway')?.message).toContain(
      '4 events of the account wait in the spool',
    );
    expect(explain(nothing).verdict).toContain('no trace of "m"');
    expect(explain({ ...nothing, retention: known(undefined) }).verdict).toBe(
      'there is no account 7',
    );
  });

  it('says what could not be asked instead of guessing', () => {
    const evidence = { ...inRaw, rows: away };
    expect(explain(evidence).verdict).toContain('cannot be told');
    expect(station(evidence, 'row')).toMatchObject({
      state: 'away',
      says: 'could not be asked: ClickHouse does not answer (refused)',
    });
  });

  it('tells whether the profile has taken the event', () => {
    expect(station(stored, 'profile')?.state).toBe('done');
    expect(station({ ...stored, profile: known({ ...place, index: 1 }) }, 'profile')?.state).toBe(
      'waiting',
    );
    expect(
      station({ ...stored, profile: known({ ...place, partition: 3 }) }, 'profile')?.state,
    ).toBe('unknown');
    expect(station({ ...stored, canonical: known('customer-9') }, 'identity')?.message).toBe(
      'u is a name of customer-9',
    );
  });
});
