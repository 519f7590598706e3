import { describe, expect, test } from 'vitest';
import { reportProblem, type ReportProblemKind } from '../report-problem.ts';
import { parseRetention } from '../retention/request.ts';
import { parseFunnel, type FunnelRequest } from './request.ts';

const valid = { steps: [{ event: 'a' }, { event: 'b' }], from: '2026-09-01', to: '2026-10-01' };

function read(body: unknown): FunnelRequest {
  const parsed = parseFunnel(body);
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}

function kind(body: unknown): ReportProblemKind | undefined {
  const parsed = parseFunnel(body);
  return parsed.ok ? undefined : parsed.problem.kind;
}

describe('a funnel request without options', () => {
  test('has ordered steps, a window of a week, Tehran time and no bots', () => {
    const request = read(valid);
    expect(request.range).toEqual({
      from: Date.parse('2026-08-31T20:30:00Z'),
      to: Date.parse('2026-09-30T20:30:00Z'),
      timeZone: 'Asia/Tehran',
    });
    expect(request).toMatchObject({
      order: 'ordered',
      windowMs: 604_800_000,
      includeBots: false,
      exclude: [],
      filters: [],
      breakdown: undefined,
    });
  });

  test('has exclusions between all steps and a breakdown of 25 values of the first step', () => {
    const request = read({ ...valid, exclude: [{ event: 'x' }], breakdown: { property: 'p' } });
    expect(request.exclude).toEqual([{ event: 'x', filters: [], fromStep: 1, toStep: 2 }]);
    expect(request.breakdown).toEqual({
      target: { kind: 'property', name: 'p' },
      step: 1,
      limit: 25,
    });
  });

  test('may have unknown fields, which are ignored', () => {
    expect(
      kind({ ...valid, colour: 'red', steps: [{ event: 'a', note: 1 }, { event: 'b' }] }),
    ).toBeUndefined();
  });
});

describe('the reader of a report request (ingest 2.3)', () => {
  test('normalises an event name, and not its label', () => {
    expect(read({ ...valid, steps: [{ event: ' خريد  ' }, { event: 'b' }] }).steps[0]).toEqual({
      label: ' خريد  ',
      event: 'خرید',
      filters: [],
    });
  });

  test('normalises values of properties and Persian columns, and no others', () => {
    const filters = [
      { property: 'product.name', op: 'eq', value: 'كفش ' },
      { field: 'city', op: 'in', value: ['رشت ', 'يزد'] },
      { field: 'utm_source', op: 'eq', value: 'كانال ' },
      { trait: 'email', op: 'eq', value: 'A@b.ir ' },
    ];
    expect(read({ ...valid, filters }).filters).toEqual([
      {
        target: { kind: 'property', name: 'product_name' },
        test: { op: 'eq', value: { text: 'کفش' } },
      },
      {
        target: { kind: 'field', name: 'city' },
        test: { op: 'in', values: [{ text: 'رشت' }, { text: 'یزد' }] },
      },
      {
        target: { kind: 'field', name: 'utm_source' },
        test: { op: 'eq', value: { text: 'كانال ' } },
      },
      { target: { kind: 'trait', name: 'email' }, test: { op: 'eq', value: { text: 'A@b.ir ' } } },
    ]);
  });

  test('compares true and false as texts, and numbers as numbers', () => {
    const filters = [
      { property: 'p', op: 'eq', value: true },
      { property: 'p', op: 'between', value: [1, 2.5] },
    ];
    expect(read({ ...valid, filters }).filters.map(({ test: one }) => one)).toEqual([
      { op: 'eq', value: { text: 'true' } },
      { op: 'between', low: 1, high: 2.5 },
    ]);
  });
});

const filter = { property: 'p', op: 'eq', value: 'x' };
const overlapping = Array.from({ length: 7 }, () => ({ event: 'a' }));

const rejected: [ReportProblemKind, string, unknown][] = [
  ['body', 'a text instead of an object', 'steps'],
  ['body', 'a list', [valid]],
  ['body', 'steps of another type', { ...valid, steps: 'a' }],
  ['body', 'an event name that is a number', { ...valid, steps: [{ event: 1 }, { event: 'b' }] }],
  ['body', 'include_bots as text', { ...valid, include_bots: 'yes' }],
  ['steps', 'no steps', { ...valid, steps: undefined }],
  ['one_step', 'one step', { ...valid, steps: [{ event: 'a' }] }],
  [
    'too_many_steps',
    'thirteen steps',
    { ...valid, steps: Array.from({ length: 13 }, (_, at) => ({ event: `e${at}` })) },
  ],
  [
    'steps',
    'seven steps in any order that share events',
    { ...valid, order: 'any', steps: overlapping },
  ],
  ['event_missing', 'a step without a name', { ...valid, steps: [{}, { event: 'b' }] }],
  [
    'event_missing',
    'a name of blanks',
    { ...valid, steps: [{ event: ' ‌ '.replace('‌', '') }, { event: 'b' }] },
  ],
  ['range', 'no from', { ...valid, from: undefined }],
  ['range', 'from = to', { ...valid, to: valid.from }],
  ['range', '30 February', { ...valid, from: '2026-02-30' }],
  ['range', 'an epoch number', { ...valid, from: 1_700_000_000 }],
  ['range', 'a time without offset', { ...valid, from: '2026-09-01T00:00:00' }],
  ['range_too_long', '731 days', { ...valid, from: '2024-09-30', to: '2026-10-01' }],
  ['time_zone', 'an unknown zone', { ...valid, timezone: 'Asia/Nowhere' }],
  ['time_zone', 'an offset', { ...valid, timezone: '+03:30' }],
  ['window', 'zero', { ...valid, window_seconds: 0 }],
  ['window', 'over a year', { ...valid, window_seconds: 31_536_001 }],
  ['window', 'half a second', { ...valid, window_seconds: 0.5 }],
  ['option', 'an unknown order', { ...valid, order: 'random' }],
  ['option', 'exclusions in any order', { ...valid, order: 'any', exclude: [{ event: 'x' }] }],
  [
    'option',
    'from_step = to_step',
    { ...valid, exclude: [{ event: 'x', from_step: 1, to_step: 1 }] },
  ],
  ['option', 'to_step past the last', { ...valid, exclude: [{ event: 'x', to_step: 3 }] }],
  [
    'option',
    'a breakdown by two things',
    { ...valid, breakdown: { property: 'p', field: 'city' } },
  ],
  ['option', 'a breakdown by an unknown column', { ...valid, breakdown: { field: 'colour' } }],
  ['option', 'a breakdown at step 3 of 2', { ...valid, breakdown: { property: 'p', step: 3 } }],
  ['option', '101 values', { ...valid, breakdown: { property: 'p', limit: 101 } }],
  ['filter', 'an unknown operator', { ...valid, filters: [{ ...filter, op: 'like' }] }],
  ['filter', 'an unknown column', { ...valid, filters: [{ field: 'colour', op: 'is_set' }] }],
  ['filter', 'without a target', { ...valid, filters: [{ op: 'is_set' }] }],
  ['filter', 'gt with a text', { ...valid, filters: [{ property: 'p', op: 'gt', value: '5' }] }],
  ['filter', 'an empty list', { ...valid, filters: [{ property: 'p', op: 'in', value: [] }] }],
  ['filter', 'eq with an object', { ...valid, filters: [{ property: 'p', op: 'eq', value: {} }] }],
  [
    'filter',
    'between of one',
    { ...valid, filters: [{ property: 'p', op: 'between', value: [1] }] },
  ],
  [
    'too_many_filters',
    'eleven over all lists',
    {
      ...valid,
      steps: [{ event: 'a', filters: Array(6).fill(filter) }, { event: 'b' }],
      filters: Array(5).fill(filter),
    },
  ],
  [
    'event_too_long',
    '257 bytes',
    { ...valid, steps: [{ event: 'e'.repeat(257) }, { event: 'b' }] },
  ],
  ['key_too_long', '129 bytes', { ...valid, filters: [{ ...filter, property: 'k'.repeat(129) }] }],
  [
    'key_too_long',
    '129 bytes in a breakdown',
    { ...valid, breakdown: { property: 'k'.repeat(129) } },
  ],
  [
    'value_too_long',
    '513 bytes',
    { ...valid, filters: [{ ...filter, value: 'ش'.repeat(256) + 'x' }] },
  ],
];

describe('the check of a report request', () => {
  test.each(rejected)('answers %s to a body with %s', (problem, _, body) => {
    expect(kind(body)).toBe(problem);
  });

  test('has different sentences for the thirteen problems, for one step and for thirteen steps', () => {
    const kinds = [...new Set(rejected.map(([problem]) => problem))];
    expect(kinds).toHaveLength(15);
    expect(new Set(kinds.map((one) => reportProblem(one).message)).size).toBe(15);
    expect(
      kinds.filter((one) => reportProblem(one).message.startsWith('analytics: ')),
    ).toHaveLength(4);
  });

  test('says how many steps are allowed to a funnel of one step and of thirteen steps', () => {
    const sentence = (count: number) => {
      const steps = Array.from({ length: count }, (_, at) => ({ event: `e${at}` }));
      const answer = parseFunnel({ ...valid, steps });
      return answer.ok ? '' : answer.problem.message;
    };
    expect(sentence(0)).toBe('قیف باید دست‌کم ۲ و دست‌بالا ۱۲ گام داشته باشد.');
    expect(sentence(1)).toBe('قیف با تنها یک گام ساخته نمی‌شود؛ دست‌کم ۲ گام بفرستید.');
    expect(sentence(13)).toBe('تعداد گام‌های قیف بیش از اندازه است؛ دست‌بالا ۱۲ گام بفرستید.');
  });

  test('names the field in a Persian sentence', () => {
    const parsed = parseFunnel({
      ...valid,
      steps: [{ event: 'a' }, { event: 'b', filters: [{ ...filter, op: 'like' }] }],
    });
    expect(parsed.ok || parsed.problem.message).toBe(
      'یکی از فیلترها نادرست است: نام، عملگر و مقدار آن باید با هم سازگار باشند (steps[1].filters[0].op).',
    );
  });

  test('accepts a request at its limits', () => {
    const wide = {
      ...valid,
      from: '2024-10-01',
      to: '2026-10-01',
      window_seconds: 31_536_000,
      filters: Array(10).fill({ ...filter, value: 'v'.repeat(512) }),
    };
    expect(kind(wide)).toBeUndefined();
    expect(
      kind({
        ...valid,
        steps: [{ event: 'e'.repeat(256) }, { event: 'b' }],
        breakdown: { property: 'k'.repeat(128), limit: 100, step: 2 },
      }),
    ).toBeUndefined();
    expect(kind({ ...valid, order: 'any', steps: overlapping.slice(1) })).toBeUndefined();
    expect(
      kind({
        ...valid,
        order: 'any',
        steps: Array.from({ length: 12 }, (_, at) => ({ event: `e${at}` })),
      }),
    ).toBeUndefined();
  });
});

describe('a retention request', () => {
  const body = {
    start: { event: 'a' },
    return: { event: 'b' },
    from: '2026-09-01',
    to: '2026-10-01',
  };

  test('counts first starts in 30 Gregorian days by default', () => {
    const parsed = parseRetention(body);
    expect(parsed.ok && parsed.request).toMatchObject({
      mode: 'first_time',
      periods: 30,
      rule: { period: 'day', calendar: 'gregorian', weekStart: 'saturday' },
    });
  });

  test.each([
    ['event_missing', { ...body, start: undefined }],
    ['event_missing', { ...body, return: {} }],
    ['body', { ...body, start: 'a' }],
    ['option', { ...body, mode: 'once' }],
    ['option', { ...body, period: 'year' }],
    ['option', { ...body, calendar: 'hijri' }],
    ['option', { ...body, week_start: 'friday' }],
    ['option', { ...body, periods: 61 }],
    ['option', { ...body, breakdown: { property: 'p', step: 2 } }],
    ['range', { ...body, to: '2026-09-01' }],
  ])('is rejected with %s when it is %j', (problem, wrong) => {
    const parsed = parseRetention(wrong);
    expect(parsed.ok ? undefined : parsed.problem.kind).toBe(problem);
  });

  test('with zero or fewer periods gets thirty', () => {
    for (const periods of [0, -1]) {
      const parsed = parseRetention({ ...body, periods });
      expect(parsed.ok && parsed.request.periods).toBe(30);
    }
  });
});
