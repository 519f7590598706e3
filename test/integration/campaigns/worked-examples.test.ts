import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import {
  peopleModel,
  type MessageDataset,
} from '../../../account-api/campaigns/stats/testing/model.ts';
import type { StatsRun } from '../../../account-api/campaigns/stats/runs.ts';
import { outcome } from '../../../projections/messages/testing/outcomes.ts';
import type { EventRow, MessageOutcome } from '../../../schemas/records.ts';
import { storedEvent } from '../reports/arbitraries.ts';
import { START } from './arbitraries.ts';
import { openStatsDatabase, type StatsDatabase } from './stats-database.ts';

/** An example of docs/message-stats.md: what is stored, and figures of campaigns. */
interface Example {
  name: string;
  runs: StatsRun[];
  dataset: { -readonly [Key in keyof MessageDataset]: MessageDataset[Key] };
  expected: { campaign: number; figures: Record<string, number> }[];
}

const HOUR = 3_600_000;

function readExamples(markdown: string): Example[] {
  const examples: Example[] = [];
  let name = '';
  for (const [, title, fence = '', content = ''] of markdown.matchAll(
    /^#+ (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (title !== undefined) name = title;
    const lines = content.trim().split('\n');
    const example = examples.at(-1);
    if (fence === 'runs') {
      const dataset = { outcomes: [], events: [], lateOpens: [], canonical: new Map() };
      examples.push({ name, runs: lines.map(readRun), dataset, expected: [] });
    } else if (example && fence === 'messages') example.dataset.outcomes = lines.map(readMessage);
    else if (example && fence === 'events') example.dataset.events = lines.map(readEvent);
    else if (example && fence === 'merged')
      example.dataset.canonical = new Map(lines.map((line) => line.split(' ') as [string, string]));
    else if (example && fence === 'stats') {
      const { campaign = 0, ...figures } = JSON.parse(content) as Record<string, number>;
      example.expected.push({ campaign, figures });
    }
  }
  return examples;
}

/** `1.5 goal=order_completed/24 control` */
function readRun(line: string): StatsRun {
  const [, campaign, run, event, hours, control] =
    /^(\d+)\.(\d+)(?: goal=(\w+)\/(\d+))?( control)?$/.exec(line) ?? [];
  return {
    ...{ id: Number(run), campaignId: Number(campaign), planned: 1, frozenAt: START - HOUR },
    finishedAt: START + 48 * HOUR,
    goal: event === undefined ? undefined : { event, windowMs: Number(hours) * HOUR },
    hasControl: control !== undefined,
  };
}

function messageIdOf(person: string, message: string): string {
  const [campaignId = 0, runId = 0] = message.slice(1).split('.').map(Number);
  return campaignMessageId({ campaignId, runId, key: personKey(person) });
}

/** `2026-09-20T09:00:00Z sara c1.5 sent` */
function readMessage(line: string): MessageOutcome {
  const [time = '', person_id = '', message = '', status = ''] = line.split(' ');
  const [campaign_id = 0, run_id = 0] = message.slice(1).split('.').map(Number);
  const at = Date.parse(time);
  return outcome({
    ...{ person_id, campaign_id, run_id, status, message_id: messageIdOf(person_id, message) },
    ...{ planned_at: at, finished_at: at },
  });
}

/** `2026-09-20T10:00:00Z sara message_opened of=sara:c1.5 proxy`, or `… revenue=100` */
function readEvent(line: string, at: number): EventRow {
  const [time = '', user_id = '', event = '', ...more] = line.split(' ');
  const valueOf = (name: string) =>
    more.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  const [person = '', message = ''] = valueOf('of')?.split(':') ?? [];
  const isOpen = event === 'message_opened' && !more.includes('sdk');
  return storedEvent({
    ...{ user_id, event, message_id: `e${at}`, _offset: at, timestamp: Date.parse(time) },
    ...{ source: isOpen ? 'platform' : 'sdk', is_bot: more.includes('proxy') },
    ...{ revenue: Number(valueOf('revenue') ?? 0) },
    source_message_id: message === '' ? '' : messageIdOf(person, message),
  });
}

const examples = readExamples(
  readFileSync(join(import.meta.dirname, '../../../docs/message-stats.md'), 'utf8'),
);
const cases = examples.flatMap((example, at) =>
  example.expected.map((expected) => ({ ...example, ...expected, account: at + 1 })),
);

let database: StatsDatabase;
beforeAll(async () => {
  database = await openStatsDatabase('message_stats');
  await database.load(examples.map(({ dataset }) => dataset));
});
afterAll(() => database.close());

describe('docs/message-stats.md', () => {
  it('has examples', () => {
    expect(cases.length).toBeGreaterThan(3);
  });

  it.each(cases)(
    '$name, campaign $campaign: $figures, in SQL and in the reference',
    async ({ account, campaign: campaignId, runs, dataset, figures }) => {
      expect(peopleModel(dataset, { campaignId, runs })).toMatchObject(figures);
      const merges = dataset.canonical.size > 0 ? 'table' : 'none';
      const of = { accountId: account, campaignId, runs, merges, now: START } as const;
      expect(await database.count(of, 1)).toMatchObject(figures);
    },
  );
});
