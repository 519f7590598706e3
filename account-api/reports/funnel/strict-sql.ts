import { nestedSelects, TIE_BREAKERS } from '../../../platform/clickhouse/sql.ts';
import { hasEventValue } from '../breakdown-sql.ts';
import {
  before,
  carried,
  hasGap,
  columnList,
  funnelRows,
  GAP_SHIFT,
  gapBit,
  gapsOf,
  stepBit,
  type FunnelSqlContext,
} from './event-arrays.ts';

/** Bit of an element that belongs to the sequence in which steps must be adjacent. */
const SEQUENCE_BIT = 24;
/**
 * What the platform itself writes (ingest 6.1; events/event-name.ts distinguishes them in the
 * reference).
 */
export const PLATFORM_EVENTS = [
  'message_sent',
  'message_failed',
  'message_withheld',
  'message_opened',
];

/**
 * The strict funnel. An element is (time × 2 + 1 for an exclusion, tie breakers…, bits, value?):
 * sorted, that is the total order, with the exclusions of a time after its other events. A path is
 * a run of the person's sequence, so the one that ends at an element with step i is known: `l<i>`
 * holds its start there, 0 where there is none.
 */
export function strictPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const isMember = (bits: string): string => `bitTest(${bits}, ${SEQUENCE_BIT})`;
  const gaps = request.steps.slice(1).flatMap((_, at) => (hasGap(context, at) ? [at + 1] : []));
  const members = (array: string): string =>
    `arrayFilter((v, b) -> ${isMember('b')}, ${array}, bs)`;
  const lists = [
    [
      'arrayMap(e -> bitShiftRight(e.1, 1), es) AS ts',
      'es.6 AS bs',
      ...(hasEventValue(request) ? ['es.7 AS vs'] : []),
    ],
    [
      `arrayFirstIndex(b -> bitTest(b, ${stepBit(0)}), bs) AS p0`,
      `${members('ts')} AS mt`,
      `${members('bs')} AS mb`,
      ...(hasEventValue(request) ? [`${members('vs')} AS mv`] : []),
      ...gaps.map(
        (gap) =>
          `${members(carried(`arrayMap((b, t) -> if(bitTest(b, ${gapBit(gap - 1)}), t, 0), bs, ts)`))} AS x${gap}`,
      ),
    ],
    [`arrayMap((b, t) -> if(bitTest(b, ${stepBit(0)}), t, 0), mb, mt) AS l1`],
    ...request.steps.slice(1).map((_, at) => follow(context, at + 1)),
  ];
  return path(context, nestedSelects(eventArrays(context), lists));
}

function follow(context: FunnelSqlContext, step: number): string[] {
  const window = context.params.whole(context.request.windowMs);
  const isNext = `bitTest(b, ${stepBit(step)}) AND l > 0 AND t <= l + ${window}`;
  const run = hasGap(context, step - 1)
    ? `arrayMap((b, t, l, p, x) -> if(${isNext} AND x <= p, l, 0), mb, mt, ${before(`l${step}`)}, ${before('mt')}, x${step})`
    : `arrayMap((b, t, l) -> if(${isNext}, l, 0), mb, mt, ${before(`l${step}`)})`;
  return [`${run} AS l${step + 1}`, `arrayFirstIndex(l -> l > 0, l${step + 1}) AS p${step + 1}`];
}

function path({ request }: FunnelSqlContext, source: string): string {
  const later = request.steps.slice(1).map((_, at) => at + 2);
  const end = `multiIf(${[...later]
    .reverse()
    .map((step) => `p${step} > 0, p${step}`)
    .join(', ')}, 0)`;
  const depth = `toUInt8(1 + ${later.map((step) => `(p${step} > 0)`).join(' + ')})`;
  const position = (step: number): string => `toInt64(pe) - depth + ${step}`;
  const gaps = `if(depth < 2, [], ${gapsOf(`arraySlice(mt, ${position(1)}, depth)`)}) AS gaps`;
  const at = request.breakdown?.step ?? 1;
  const value = `multiIf(depth < ${at}, NULL, depth = 1, vs[p0], mv[${position(at)}]) AS value`;
  const ended = nestedSelects(`SELECT * FROM (${source}) WHERE p0 > 0`, [
    [`${end} AS pe`, `${depth} AS depth`],
  ]);
  return `SELECT person, depth, ${[gaps, ...(hasEventValue(request) ? [value] : [])].join(', ')} FROM (${ended})`;
}

/** All events of the people with a first step: those between two steps count too. */
function eventArrays(context: FunnelSqlContext): string {
  const { request, params } = context;
  const rows = funnelRows(context);
  const hasGaps = request.exclude.length > 0;
  const isMember = `type IN ('track', 'page', 'screen') AND event NOT IN ${params.bind('Array(String)', PLATFORM_EVENTS)}`;
  const first = params.text(request.steps[0]?.event ?? '');
  const starters = `SELECT ${rows.person} AS starter, ${rows.columns['mask'] ?? ''} AS mask FROM ${rows.source} WHERE ${[...rows.where, `event = ${first}`, `bitTest(mask, ${stepBit(0)})`].join(' AND ')}`;
  const where = [
    ...rows.where,
    `(is_member OR bitTest(mask, ${stepBit(0)})${hasGaps ? ' OR gaps != 0' : ''})`,
    `${rows.person} IN (SELECT starter FROM (${starters}))`,
  ];
  const inner = `SELECT ${columnList(rows)}, ${isMember} AS is_member, ${TIE_BREAKERS} FROM ${rows.source} WHERE ${where.join(' AND ')}`;
  const value = hasEventValue(request) ? ', value' : '';
  const event = `(bitShiftLeft(t, 1), ${TIE_BREAKERS}, bitOr(mask, bitShiftLeft(toUInt64(is_member), ${SEQUENCE_BIT}))${value})`;
  const exclusion = `(bitShiftLeft(t, 1) + 1, ${TIE_BREAKERS}, bitShiftLeft(gaps, ${GAP_SHIFT})${value})`;
  const isEvent = `(is_member OR bitTest(mask, ${stepBit(0)}))`;
  const collected = hasGaps
    ? `groupArrayArray(multiIf(gaps = 0, [${event}], NOT ${isEvent}, [${exclusion}], [${event}, ${exclusion}]))`
    : `groupArray(${event})`;
  return `SELECT person, arraySort(${collected}) AS es FROM (${inner}) GROUP BY person`;
}
