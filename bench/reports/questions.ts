import { compileCount } from '../../audiences/compile.ts';
import { readAudience } from '../../audiences/read.ts';
import { compileFunnel } from '../../account-api/reports/funnel/compile.ts';
import { funnelOfMany } from '../../account-api/reports/funnel/many/funnel-of-many.ts';
import type { ManyEvents } from '../../account-api/reports/many-events/many-events.ts';
import { retentionOfMany } from '../../account-api/reports/retention/many/retention-of-many.ts';
import { parseFunnel } from '../../account-api/reports/funnel/request.ts';
import type { Merges } from '../../audiences/people-sql.ts';
import { compileRetention } from '../../account-api/reports/retention/compile.ts';
import { parseRetention } from '../../account-api/reports/retention/request.ts';
import { SqlParams, type CompiledQuery } from '../../platform/clickhouse/sql.ts';
import { isWord, propertyWord } from '../../events/property-words.ts';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { ACCOUNT, type Volume } from './fill.ts';

/** A question, as the host asks it, and what it is measured beside. */
export interface Question {
  name: string;
  ours: CompiledQuery;
  /** Where threads count its events. */
  many?: { events: ManyEvents; merges: Merges } | undefined;
  /** Only reading the columns of the rows that the question is about. */
  scan?: string;
  /** The same scan with GROUP BY person and max(timestamp). */
  grouped?: string;
  /** The same question over JSON text and UUIDs. */
  json?: string;
}

const countedBy = (events: ManyEvents | undefined, merges: Merges): Question['many'] =>
  events && { events, merges };

const DAY_MS = 86_400_000;
const WINDOW_DAYS = 7;
/** Maximum number of filters of a report (reports: Shared by both reports). */
const MAX_FILTERS = 10;
/** One in five events; a word (events/property-words.ts). */
const CATEGORY = { property: 'category', value: 'audio' };
/** One in three hundred; no word. */
const BRAND = { property: 'brand', value: 'brand-7' };

/** The same as a condition of a scan, which reads what a filter reads. */
function isOneOf({ property, value }: { property: string; value: string }): string {
  return isWord(value)
    ? `has(_property_words, '${propertyWord(property, value)}')`
    : `properties['${property}'] = '${value}'`;
}

/** The questions of the bench: everything lies within the days of the volume. */
export function questions(volume: Volume): Question[] {
  const end = tehranDay(volume.until * 1000);
  const day = (ago: number) => dayText(end - ago);
  const at = (ago: number) => `${day(ago)} 00:00:00`;
  const steps = (count: number) => Array.from({ length: count }, (_, index) => `step_${index + 1}`);
  const between = (from: number, to: number) =>
    `timestamp >= '${at(from)}' AND timestamp < '${at(to)}'`;
  const named = (names: readonly string[]) =>
    `event IN (${names.map((name) => `'${name}'`).join(', ')})`;
  const ofAccount = `account_id = ${ACCOUNT} AND NOT is_bot`;

  /** Whose event it is, over UUIDs: the person that the event carries, or who took their place. */
  const overrides = `SELECT distinct_id, argMax(person_id, version) AS person_id FROM person_overrides WHERE team_id = ${ACCOUNT} GROUP BY distinct_id HAVING argMax(is_deleted, version) = 0`;
  const jsonPeople = (merges: Merges): { from: string; person: string } =>
    merges === 'none'
      ? { from: 'events_json AS e', person: 'e.person_id' }
      : {
          from: `events_json AS e LEFT JOIN (${overrides}) AS o ON e.distinct_id = o.distinct_id`,
          person: "if(o.distinct_id != '', o.person_id, e.person_id)",
        };

  const funnel = (
    count: number,
    days: number,
    options: { merges: Merges; filter?: { property: string; value: string } },
  ): Question => {
    const names = steps(count);
    const { filter } = options;
    const isFiltered = (index: number) => filter !== undefined && index < MAX_FILTERS;
    const filters = [{ op: 'eq', ...filter }];
    const parsed = parseFunnel({
      steps: names.map((event, index) => (isFiltered(index) ? { event, filters } : { event })),
      from: day(days + WINDOW_DAYS),
      to: day(WINDOW_DAYS),
    });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const { from, person } = jsonPeople(options.merges);
    const matches = names.map(
      (name, index) =>
        `event = '${name}'${filter && isFiltered(index) ? ` AND JSONExtractString(properties, '${filter.property}') = '${filter.value}'` : ''}`,
    );
    const unfiltered = names.filter((_, index) => !isFiltered(index));
    const own = `${ofAccount} AND ${named(names)} AND ${between(days + WINDOW_DAYS, 0)}${
      filter
        ? ` AND (${isOneOf(filter)}${unfiltered.length > 0 ? ` OR ${named(unfiltered)}` : ''})`
        : ''
    }`;
    return {
      name: `funnel, ${count} steps over ${days} days${filter ? `, ${filter.property} ${filter.value} on every step, at most ten` : ''}${options.merges === 'table' ? ', with joined names' : ''}`,
      ours: compileFunnel({ request: parsed.request, accountId: ACCOUNT, merges: options.merges }),
      many: countedBy(funnelOfMany(parsed.request, ACCOUNT), options.merges),
      scan: `SELECT max(timestamp), max(_person), uniqCombined(event) FROM events WHERE ${own}`,
      grouped: `SELECT count(), max(m) FROM (SELECT max(timestamp) AS m FROM events WHERE ${own} GROUP BY _person)`,
      json: `SELECT level, count() FROM (SELECT ${person} AS person, windowFunnel(${WINDOW_DAYS * 86_400_000_000})(toUInt64(toUnixTimestamp64Micro(timestamp)), ${matches.join(', ')}) AS level
        FROM ${from} WHERE team_id = ${ACCOUNT} AND ${named(names)} AND ${between(days + WINDOW_DAYS, 0)} GROUP BY person) GROUP BY level`,
    };
  };

  const retention = (merges: Merges): Question => {
    const parsed = parseRetention({
      start: { event: 'step_1' },
      return: { event: 'step_2' },
      period: 'day',
      periods: 30,
      from: day(60),
      to: day(30),
    });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const own = `${ofAccount} AND ${named(['step_1', 'step_2'])}`;
    const { from, person } = jsonPeople(merges);
    return {
      name: `retention, first time, 30 days by day${merges === 'table' ? ', with joined names' : ''}`,
      ours: compileRetention({ request: parsed.request, accountId: ACCOUNT, merges }),
      many: countedBy(retentionOfMany(parsed.request, ACCOUNT), merges),
      scan: `SELECT max(timestamp), max(_person), uniqCombined(event) FROM events WHERE ${own}`,
      grouped: `SELECT count(), max(m) FROM (SELECT max(timestamp) AS m FROM events WHERE ${own} GROUP BY _person)`,
      json: `SELECT first, back - first AS n, count() FROM (SELECT ${person} AS person, minIf(intDiv(toUnixTimestamp64Micro(timestamp), ${DAY_MS}000), event = 'step_1') AS first,
          arrayJoin(groupUniqArrayIf(intDiv(toUnixTimestamp64Micro(timestamp), ${DAY_MS}000), event = 'step_2')) AS back
        FROM ${from} WHERE team_id = ${ACCOUNT} AND ${named(['step_1', 'step_2'])} GROUP BY person) WHERE n BETWEEN 0 AND 29 GROUP BY first, n`,
    };
  };

  const audience = (merges: Merges): Question => {
    const read = readAudience({
      all: [
        { event: 'step_1', did: true, within_days: 30 },
        { event: 'step_2', did: true, times: { op: 'gte', value: 2 }, within_days: 30 },
        { event: 'step_3', did: false, within_days: 30 },
      ],
    });
    if (!read.ok) throw new Error(read.message);
    const { from, person } = jsonPeople(merges);
    const params = new SqlParams();
    const now = volume.until * 1000;
    const sql = compileCount(read.audience.root, {
      accountId: ACCOUNT,
      now,
      today: end,
      merges,
      params,
    });
    const own = `${ofAccount} AND ${named(steps(3))} AND timestamp >= toDateTime64(${volume.until - 30 * 86_400}, 3)`;
    return {
      name: `audience count, three event predicates${merges === 'table' ? ', with joined names' : ''}`,
      ours: { sql, params: params.values() },
      scan: `SELECT max(timestamp), max(_person), uniqCombined(event) FROM events WHERE ${own}`,
      grouped: `SELECT count(), max(m) FROM (SELECT max(timestamp) AS m FROM events WHERE ${own} GROUP BY _person)`,
      // Who did not do something may have done nothing at all: people are asked, as ours are.
      json: `SELECT count() FROM (SELECT ${person} AS person, countIf(event = 'step_1') AS a, countIf(event = 'step_2') AS b, countIf(event = 'step_3') AS c FROM ${from}
          WHERE team_id = ${ACCOUNT} AND ${named(steps(3))} AND timestamp >= toDateTime64(${volume.until - 30 * 86_400}, 6) GROUP BY person HAVING a > 0 AND b >= 2 AND c = 0) AS did
        INNER JOIN (SELECT id FROM persons WHERE team_id = ${ACCOUNT} GROUP BY id HAVING argMax(is_deleted, version) = 0) AS p ON did.person = p.id`,
    };
  };

  return [
    funnel(4, 30, { merges: 'none' }),
    funnel(4, 30, { merges: 'table' }),
    funnel(4, 30, { merges: 'none', filter: CATEGORY }),
    funnel(4, 30, { merges: 'none', filter: BRAND }),
    funnel(12, volume.days - WINDOW_DAYS, { merges: 'none' }),
    funnel(12, volume.days - WINDOW_DAYS, { merges: 'none', filter: CATEGORY }),
    retention('none'),
    retention('table'),
    audience('none'),
    audience('table'),
  ];
}
