import fc from 'fast-check';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import type { StatsRun } from '../../../account-api/campaigns/stats/runs.ts';
import type { MessageDataset } from '../../../account-api/campaigns/stats/testing/model.ts';
import { outcome } from '../../../projections/messages/testing/outcomes.ts';
import { storedEvent } from '../reports/arbitraries.ts';

/** The campaign whose stats are read; the others compete with it, or have another goal. */
export const OWN = 1;
/** Where the small datasets of this test lie. */
export const START = Date.UTC(2026, 8, 20, 9);
const HOUR = 3_600_000;
const PEOPLE = 6;

export interface StatsCase {
  runs: StatsRun[];
  /** The people are counted in so many parts. */
  parts: number;
  dataset: MessageDataset;
}

/** Few instants, and the milliseconds beside them: edges and ties are the rule. */
const time = fc
  .record({ hour: fc.integer({ min: 0, max: 8 }), jitter: fc.constantFrom(-1, 0, 0, 0, 1) })
  .map(({ hour, jitter }) => START + hour * HOUR + jitter);

/** Half of everything is of one person and of the name that may be joined to it. */
const name = fc
  .oneof(fc.constantFrom(0, 0, 1), fc.nat({ max: PEOPLE - 1 }))
  .map((person) => `u${person}`);

/** Buys, and an event that the platform writes itself. */
const goalEvent = fc.constantFrom('buy', 'buy', 'buy', 'signup', 'message_opened');

const run = fc.record({
  campaignId: fc.constantFrom(OWN, OWN, 2, 3),
  goal: fc.option(
    fc.record({ event: goalEvent, windowMs: fc.constantFrom(1, 2, 3, 5).map((h) => h * HOUR) }),
    { freq: 6 },
  ),
  hasControl: fc.constantFrom(true, true, true, false),
});

const status = fc.constantFrom(
  ...['sent', 'sent', 'sent', 'sent', 'failed', 'skipped', 'withheld', 'withheld'],
);

const message = fc.record({
  run: fc.nat(100),
  person_id: name,
  status,
  planned_at: time,
  sentAfter: fc.constantFrom(0, 0, 1, HOUR),
  /** It is in the topic again, at last with this status. */
  again: fc.option(status, { freq: 3 }),
});

const event = fc.record({
  event: fc.constantFrom(
    ...['buy', 'buy', 'signup', 'message_clicked', 'message_clicked', 'message_opened'],
  ),
  source: fc.constantFrom('sdk', 'sdk', 'platform', 'platform', 'import'),
  name,
  isKnown: fc.boolean(),
  timestamp: time,
  revenue: fc.constantFrom(0, 1, 2.5, 100),
  is_bot: fc.integer({ min: 0, max: 7 }).map((draw) => draw === 0),
  /** The message that it is about; beyond them: one that nobody knows. */
  about: fc.nat(30),
});

/** Runs with their messages, and events about them and beside them. */
export const statsCase: fc.Arbitrary<StatsCase> = fc
  .record({
    runs: fc.array(run, { minLength: 1, maxLength: 5 }),
    messages: fc.array(message, { minLength: 8, maxLength: 24, size: 'max' }),
    events: fc.array(event, { minLength: 40, maxLength: 120, size: 'max' }),
    late: fc.array(fc.record({ about: fc.nat(30), at: time }), { maxLength: 4 }),
    parts: fc.constantFrom(1, 1, 3),
    joins: fc.array(fc.nat({ max: PEOPLE - 1 }), { minLength: PEOPLE, maxLength: PEOPLE }),
  })
  .map(({ runs: drawn, messages, events, late, joins, parts }) => {
    const runs = drawn.map(({ goal, campaignId, ...one }, at) => ({
      ...{ ...one, id: at + 1, planned: 1, frozenAt: START - HOUR, finishedAt: START + 12 * HOUR },
      campaignId: at === 0 ? OWN : campaignId,
      goal: goal ?? undefined,
    }));
    const first = messages.map(({ run: at, again, sentAfter, ...of }) => {
      const { id: run_id = 1, campaignId = OWN } = runs[at % runs.length] ?? {};
      const key = personKey(of.person_id);
      return {
        again,
        sent: outcome({
          ...{ ...of, campaign_id: campaignId, run_id, finished_at: of.planned_at + sentAfter },
          message_id: campaignMessageId({ campaignId, runId: run_id, key }),
        }),
      };
    });
    const outcomes = [
      ...first.map(({ sent }) => sent),
      ...first.flatMap(({ again, sent }) => (again === null ? [] : { ...sent, status: again })),
    ];
    const idAt = (at: number) => outcomes[at % (outcomes.length + 3)]?.message_id ?? 'c1.1.none';
    // Flat, as the identities projection writes it: everybody who was joined is joined to somebody
    // who was not.
    const canonical = new Map<string, string>();
    for (const [person, to] of joins.entries())
      if (person % 2 === 1 && to % 2 === 0) canonical.set(`u${person}`, `u${to}`);
    return {
      runs,
      parts,
      dataset: {
        outcomes,
        canonical,
        events: events.map(({ about, name: person, isKnown, ...of }, at) =>
          storedEvent({
            ...{ ...of, source_message_id: idAt(about), message_id: `e${at}`, _offset: at },
            ...(isKnown ? { user_id: person } : { anonymous_id: person }),
          }),
        ),
        lateOpens: late.map(({ about, at }) => ({ message_id: idAt(about), at })),
      },
    };
  });
