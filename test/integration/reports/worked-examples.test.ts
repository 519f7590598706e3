import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerFunnel, type FunnelRow } from '../../../account-api/reports/funnel/answer.ts';
import { readEvents as readColumns } from '../../../account-api/reports/few-events/read-events.ts';
import { compileFunnel } from '../../../account-api/reports/funnel/compile.ts';
import { funnelOfFew } from '../../../account-api/reports/funnel/few/funnel-of-few.ts';
import { funnelModel } from '../../../account-api/reports/funnel/testing/model.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { answerPaths, type PathsRow } from '../../../account-api/reports/paths/answer.ts';
import { compilePaths } from '../../../account-api/reports/paths/compile.ts';
import { parsePaths } from '../../../account-api/reports/paths/request.ts';
import { pathsModel } from '../../../account-api/reports/paths/testing/model.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import {
  answerRetention,
  type RetentionRow,
} from '../../../account-api/reports/retention/answer.ts';
import { compileRetention } from '../../../account-api/reports/retention/compile.ts';
import { retentionModel } from '../../../account-api/reports/retention/testing/model.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import { answerTrends, type TrendsRow } from '../../../account-api/reports/trends/answer.ts';
import { compileTrends } from '../../../account-api/reports/trends/compile.ts';
import { parseTrends } from '../../../account-api/reports/trends/request.ts';
import { trendsModel } from '../../../account-api/reports/trends/testing/model.ts';
import type { Dataset } from '../../../account-api/reports/testing/dataset.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { storedEvent } from './arbitraries.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

const KINDS = ['funnel', 'retention', 'trends', 'paths'] as const;
type Kind = (typeof KINDS)[number];

/**
 * An example of docs/reports.md: the events before it, a request, and what it answers (`answer` in
 * full, `counts` the counts alone).
 */
interface Example {
  name: string;
  account: number;
  dataset: Dataset;
  kind: Kind;
  body: unknown;
  freshUntil: number;
  expected: { shape: 'answer' | 'counts'; value: unknown };
}

function readExamples(markdown: string): { examples: Example[]; datasets: Dataset[] } {
  const examples: Example[] = [];
  const datasets: Dataset[] = [];
  let open: Partial<Example> = {};
  let heading = '';
  for (const [, title, fence, content = ''] of markdown.matchAll(
    /^#+ (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (title !== undefined) heading = title;
    else if (fence === 'events')
      datasets.push({ events: readEvents(content), canonical: new Map(), people: new Map() });
    else if (KINDS.some((kind) => kind === fence))
      open = { ...open, kind: fence as Kind, body: JSON.parse(content) };
    else if (fence === 'fresh') open = { ...open, freshUntil: Date.parse(content.trim()) };
    else if (fence === 'answer' || fence === 'counts') {
      const { kind = 'funnel', body, freshUntil = Infinity } = open;
      const dataset = datasets.at(-1) ?? { events: [], canonical: new Map(), people: new Map() };
      examples.push({
        name: heading,
        account: datasets.length,
        dataset,
        kind,
        body,
        freshUntil,
        expected: { shape: fence, value: JSON.parse(content) },
      });
    } else throw new Error(`docs/reports.md: what is a block of ${fence}?`);
  }
  return { examples, datasets };
}

function readEvents(lines: string): EventRow[] {
  return lines
    .trim()
    .split('\n')
    .map((line, at) => {
      const [time = '', person = '', event = '', ...pairs] = line.split(' ');
      const values = pairs.map((pair) => pair.split('=') as [string, string]);
      const numbers = values
        .filter(([, value]) => /^\d/.test(value))
        .map(([key, value]) => [key, Number(value)] as const);
      return storedEvent({
        ...{ user_id: person, event, _offset: at, message_id: `m${at}` },
        ...{ timestamp: Date.parse(time), received_at: Date.parse(time) },
        properties: Object.fromEntries(
          values.map(([key, value]) => [key, value.replaceAll('"', '')]),
        ),
        property_numbers: Object.fromEntries(numbers),
      });
    });
}

function accepted<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}

const NOTHING_MEASURED = { rowsRead: 0, elapsedMs: 0 };
/** Far behind every example: all its periods are over. */
const LATE = Date.UTC(2030, 0, 1);

async function bothAnswers(warehouse: Warehouse, example: Example): Promise<unknown[]> {
  const { account, dataset, body } = example;
  const measured = { ...NOTHING_MEASURED, freshUntil: Math.min(LATE, example.freshUntil) };
  const rows = async ({
    sql,
    params,
  }: {
    sql: string;
    params: Record<string, unknown>;
  }): Promise<unknown[]> =>
    (
      await (
        await onAccount(warehouse.client, account).query({
          query: sql,
          query_params: params,
          format: 'JSON',
        })
      ).json()
    ).data;
  if (example.kind === 'funnel') {
    const request = accepted(parseFunnel(body));
    const found = await rows(compileFunnel({ request, accountId: account, merges: 'none' }));
    const few = funnelOfFew(request, account);
    const { columns = {} } = await readColumns(onAccount(warehouse.client, account), {
      ...{ compiled: few.compile('none'), limit: few.limit },
      signal: AbortSignal.timeout(60_000),
    });
    return [
      answerFunnel({ request, rows: found as FunnelRow[], measured }),
      answerFunnel({ request, rows: few.next(columns) as FunnelRow[], measured }),
      funnelModel(dataset, request),
    ];
  }
  if (example.kind === 'trends') {
    const request = accepted(parseTrends(body));
    const found = await rows(compileTrends({ request, accountId: account, merges: 'none' }));
    return [
      answerTrends({ request, rows: found as TrendsRow[], measured }),
      trendsModel(dataset, request, measured.freshUntil),
    ];
  }
  if (example.kind === 'paths') {
    const request = accepted(parsePaths(body));
    const found = await rows(compilePaths({ request, accountId: account, merges: 'none' }));
    return [
      answerPaths({ request, rows: found as PathsRow[], measured }),
      pathsModel(dataset, request),
    ];
  }
  const request = accepted(parseRetention(body));
  const found = await rows(compileRetention({ request, accountId: account, merges: 'none' }));
  return [
    answerRetention({ request, rows: found as RetentionRow[], measured }),
    retentionModel(dataset, request, measured.freshUntil),
  ];
}

/** The answer without meta, or only its counts. */
function shaped(answer: unknown, shape: 'answer' | 'counts'): unknown {
  const { steps, breakdown } = answer as {
    steps?: { count: number }[];
    breakdown?: object[];
  };
  if (shape === 'answer')
    return JSON.parse(JSON.stringify({ ...(answer as object), meta: undefined }));
  const parts = breakdown?.map((part) => ({ ...part, ...(shaped(part, 'counts') as object) }));
  return { steps: steps?.map(({ count }) => count), ...(parts ? { breakdown: parts } : {}) };
}

const { examples, datasets } = readExamples(
  readFileSync(join(import.meta.dirname, '../../../docs/reports.md'), 'utf8'),
);
let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('worked_examples');
  await warehouse.load(datasets);
});
afterAll(() => warehouse.close());

describe('docs/reports.md', () => {
  test('has examples', () => {
    expect(examples.length).toBeGreaterThan(8);
  });

  test.each(examples.map((example, at) => [`${at + 1} ${example.name}`, example] as const))(
    'has the answers of both implementations in example %s',
    async (_, example) => {
      for (const answer of await bothAnswers(warehouse, example)) {
        expect(shaped(answer, example.expected.shape)).toEqual(example.expected.value);
      }
    },
  );
});
