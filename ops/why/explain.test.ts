import { describe, expect, it } from 'vitest';
import type { DeadLetterRow } from '../dlq/dead-letter-store.ts';
import type { Evidence, RawOccurrence, StoredRow } from './evidence.ts';
import { explain } from './explain.ts';

const NOW = Date.UTC(2026, 10, 21);
const known = <T>(value: T) => ({ known: true, value }) as const;
const unavailable = { known: false, why: 'ClickHouse does not answer (refused)' } as const;
const position = { epoch: 0, partition: 1, offset: 70, index: 2 };
const row: StoredRow = {
  ...position,
  event: 'paid',
  type: 'track',
  user_id: 'u',
  anonymous_id: '',
  previous_id: '',
  trace: '',
  timestamp: NOW - 5000,
  received_at: NOW - 4000,
};
const occurrence: RawOccurrence = {
  ...position,
  ...{
    accountId: 7,
    messageId: 'm',
    appendedAt: NOW - 4000,
    receivedAt: NOW - 4000,
    timestamp: NOW - 5000,
    path: '/v1/track',
    source: 'sdk',
    trace: 'ab',
    gateway: 'g',
    generated: false,
  },
  ...{ redrivenFrom: undefined, distinctId: 'u', previousId: undefined },
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
    deadLetters: known([]),
    normalised: known(undefined),
  },
  ...{
    progress: known({ normaliser: 100, groups: new Map([['events-sink', 50]]) }),
    profile: known(undefined),
    identities: known({ canonical: new Map(), others: 0 }),
    deliveries: known(undefined),
  },
};
const inRaw: Evidence = {
  ...nothing,
  raw: known({ found: [occurrence], searched: 'events.raw 1', complete: true }),
};
const stored: Evidence = {
  ...inRaw,
  rows: known([row]),
  normalised: known(40),
  profile: known({ ...position, offset: 71 }),
};
const stage = (evidence: Evidence, name: string) =>
  explain(evidence).stages.find((one) => one.name === name);

describe('why an event is where it is', () => {
  it('shows a stored event as done at every stage', () => {
    const { verdict, stages } = explain(stored);
    expect(verdict).toBe('stored once');
    expect(stages.filter(({ state }) => state === 'done').map((one) => one.name)).toEqual(
      expect.arrayContaining(['gateway', 'raw log', 'normaliser', 'row', 'profile', 'identity']),
    );
  });

  it('lists the other positions of the message with their verdicts', () => {
    const again = { ...occurrence, offset: 90, index: 0 };
    const evidence = {
      ...stored,
      raw: known({ found: [occurrence, again], searched: '', complete: true }),
      verdicts: known(new Map([['0/1/90/0', 'duplicate' as const]])),
    };
    expect(stage(evidence, 'dedupe')?.message).toContain('1/90/0: duplicate');
  });

  it('distinguishes an event that is under way from a lost one', () => {
    expect(
      explain({ ...inRaw, progress: known({ normaliser: 60, groups: new Map() }) }).verdict,
    ).toContain('under way');
    expect(
      stage({ ...inRaw, progress: known({ normaliser: 60, groups: new Map() }) }, 'normaliser')
        ?.message,
    ).toContain('11 records');
    const normalised = { ...inRaw, normalised: known(50) };
    expect(explain(normalised).verdict).toContain('under way');
    expect(stage(normalised, 'row')?.state).toBe('waiting');
    expect(explain(inRaw).verdict).toContain('has no row');
  });

  it('names the dead letter and the command that shows it', () => {
    const deadLetter = {
      key: 'events.raw/1/70/2',
      reason: 'item_missing',
      state: 'dead',
      fingerprint: 'abcd',
      note: null,
      redriven_to: null,
      partition: 1,
    } as DeadLetterRow;
    expect(explain({ ...inRaw, deadLetters: known([deadLetter]) }).verdict).toBe(
      'dead: item_missing, dead letter events.raw/1/70/2; ./ravand dlq show abcd',
    );
    expect(
      explain({
        ...inRaw,
        deadLetters: known([{ ...deadLetter, state: 'discarded', note: 'test traffic' }]),
      }).verdict,
    ).toContain('test traffic');
    expect(
      explain({
        ...stored,
        deadLetters: known([{ ...deadLetter, state: 'redriven', redriven_to: 80 }]),
      }).verdict,
    ).toBe('stored once');
  });

  it('reports an expired event by the shorter of 400 days and the retention of the account', () => {
    const old = { ...occurrence, timestamp: NOW - 380 * 86_400_000 };
    const evidence = { ...inRaw, raw: known({ found: [old], searched: '', complete: true }) };
    expect(explain(evidence).verdict).toContain('the account keeps 365 days');
    expect(explain({ ...evidence, retention: known(0) }).verdict).not.toContain('expired');
  });

  it('reports events that wait in a spool, and messages without a trace', () => {
    const spooled = {
      ...nothing,
      claim: known({ state: 'durable', expires: NOW } as const),
      spooled: known(4),
    };
    expect(explain(spooled).verdict).toContain('spool');
    expect(stage(spooled, 'gateway')?.message).toContain(
      '4 events of the account wait in the spool',
    );
    expect(explain(nothing).verdict).toContain('no trace of "m"');
    expect(explain({ ...nothing, retention: known(undefined) }).verdict).toBe(
      'there is no account 7',
    );
  });

  it('names the stored row of a packed claim, and the end of its part', () => {
    const packed = { state: 'packed', since: NOW - 1, expires: NOW } as const;
    const message = stage({ ...stored, claim: known(packed) }, 'dedupe')?.message;
    expect(message).toMatch(
      /^the first one is .*; duplicates are dropped until .* or a little earlier/,
    );
    expect(stage({ ...nothing, claim: known(packed) }, 'dedupe')?.message).toMatch(
      /^its claim is packed; /,
    );
  });

  it('names an unavailable server instead of guessing', () => {
    const evidence = { ...inRaw, rows: unavailable };
    expect(explain(evidence).verdict).toContain('unknown whether');
    expect(stage(evidence, 'row')).toMatchObject({
      state: 'unavailable',
      message: 'unavailable: ClickHouse does not answer (refused)',
    });
  });

  it('shows whether the profile has folded the event', () => {
    expect(stage(stored, 'profile')?.state).toBe('done');
    expect(stage({ ...stored, profile: known({ ...position, index: 1 }) }, 'profile')?.state).toBe(
      'waiting',
    );
    expect(
      stage({ ...stored, profile: known({ ...position, partition: 3 }) }, 'profile')?.state,
    ).toBe('unknown');
  });

  it('names the person of its distinct id', () => {
    const identity = (canonical: string | undefined, others = 0) => {
      const pairs = canonical === undefined ? [] : [['u', canonical] as const];
      const identities = known({ canonical: new Map(pairs), others });
      return stage({ ...stored, identities }, 'identity')?.message;
    };
    expect(identity(undefined)).toBe('u, not merged with another distinct id');
    expect(identity('customer-9', 2)).toBe('u belongs to customer-9');
    expect(identity('u', 1)).toBe(
      'u, the canonical id of a person with 1 more distinct id; ./ravand person lists them',
    );
    expect(identity('u', 0)).toBe('u, not merged with another distinct id');
  });

  it('says of an alias whether it merged the two people', () => {
    const alias = { ...row, type: 'alias', event: 'alias', previous_id: 'anon' };
    const identity = (canonical: Record<string, string>, progress = stored.progress) => {
      const identities = known({ canonical: new Map(Object.entries(canonical)), others: 1 });
      return stage({ ...stored, rows: known([alias]), identities, progress }, 'identity');
    };
    expect(identity({ anon: 'u', u: 'u' })).toEqual({
      ...{ name: 'identity', state: 'done' },
      message: 'it merges anon into u: both belong to u',
    });
    expect(identity({ anon: 'boss', u: 'boss' })?.message).toBe(
      'it merges anon into u: both belong to boss',
    );
    const past = { normaliser: 100, groups: new Map([['identities-sink', 41]]) };
    expect(identity({ anon: 'other', u: 'u' }, known(past))).toMatchObject({
      state: 'absent',
      message:
        'it merges nothing: anon belongs to other, u belongs to u; ./ravand person anon --account 7 shows what merged or separated them',
    });
    const before = { normaliser: 100, groups: new Map([['identities-sink', 40]]) };
    expect(identity({}, known(before))).toMatchObject({
      state: 'waiting',
      message: 'anon is not merged into u yet; ./ravand lag',
    });
    const raw = { ...occurrence, previousId: 'anon' };
    const found = { found: [raw], searched: 'events.raw 1', complete: true };
    const unread = known({ normaliser: 50, groups: new Map() });
    expect(stage({ ...inRaw, raw: known(found), progress: unread }, 'identity')).toMatchObject({
      state: 'waiting',
    });
  });
});
