import { mergedSql, peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import { isPlatformEvent } from '../../../events/event-name.ts';
import { sinceSql, untilSql } from '../../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import { KEPT_MESSAGES } from '../../../platform/clickhouse/kept-messages.ts';
import { nestedSelects, SqlParams, type CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { StatsRun } from './runs.ts';

/** The latest clicks on a message that count. */
export const MAX_CLICKS = 100;
/** The strongest touches of a person that count: clicks before opens before sent messages. */
export const MAX_TOUCHES = 500;

/** What a touch is; of two, the stronger one has the conversion. */
export const TOUCH = { sent: 1, opened: 2, clicked: 3 } as const;

/** The row of the statement: people, except `revenue`. */
export interface PeopleRow {
  opened: number;
  clicked: number;
  converted: number;
  revenue: number;
  treated: number;
  treated_converted: number;
  control: number;
  control_converted: number;
}

export interface PeopleQuery {
  accountId: number;
  campaignId: number;
  /** Runs of the campaign and of those that compete with it. */
  runs: readonly StatsRun[];
  merges: Merges;
  /** ms since the epoch */
  now: number;
  /** Of `of` parts of the people, by a hash: their counts add up. */
  part: { at: number; of: number };
}

/** (kind, time, sent at, run, counts from, counts until, is of the campaign) */
const TOUCHES = 'Array(Tuple(UInt8, Int64, Int64, UInt64, Int64, Int64, UInt8))';
const SPANS = 'Array(Tuple(Int64, Int64))';
const GOALS = 'Array(Tuple(Int64, Float64))';

/** Of the campaign, by person. */
const FLAGS = ['opens', 'clicks', 'is_treated', 'is_withheld']
  .map((flag) => `max(${flag}) AS ${flag}`)
  .join(', ');

/** Where touches and spans begin or end to count, and the goal events, in the order of time. */
const EDGES = `arrayDistinct(arrayConcat(arrayMap(x -> x.5, ts), arrayMap(x -> x.6 + 1, ts), arrayMap(s -> s.1, ss), arrayMap(s -> s.2 + 1, ss)))`;
const ITEMS = `arraySort(arrayConcat(arrayMap(e -> (e, toUInt8(0), toFloat64(0)), ${EDGES}), arrayMap(g -> (g.1, toUInt8(1), g.2), gs)))`;
/** The goal events between two edges as one: a time between them, and the sum of their revenue. */
const HITS = `arrayMap(i -> (i[-1].1, arraySum(x -> x.3, i)), arrayFilter(i -> i[-1].2 = 1, arraySplit(x -> x.2 = 0, ${ITEMS})))`;

const HOUR_MS = 3_600_000;
/** Clocks of servers differ at most so much, ms. */
const CLOCK_SKEW_MS = HOUR_MS;

/**
 * How many people opened, clicked and converted, and the two sides of the uplift, in one statement
 * (docs/message-stats.md, Converted and revenue). A touch is a sent message, its open or a click on
 * it; it counts for goal events from its time on, until the message's window ends. A goal event
 * belongs to the strongest touch that counts, and among equal ones to the latest. testing/model.ts
 * says the same in another way.
 *
 * Between two edges (where a touch begins or ends to count) all goal events of a person belong to
 * the same touch: they are added up first, so that a person with a million of them costs no more.
 * Arrays are made only for people who have goal events: most recipients have none.
 */
export function compilePeople(query: PeopleQuery): CompiledQuery {
  const params = new SqlParams();
  const statement = new Statement(query, params);
  return { sql: statement.sql(), params: params.values() };
}

class Statement {
  readonly #query: PeopleQuery;
  readonly #params: SqlParams;
  readonly #goals: string[];
  readonly #own: readonly StatsRun[];

  constructor(query: PeopleQuery, params: SqlParams) {
    this.#query = query;
    this.#params = params;
    this.#own = query.runs.filter(({ campaignId }) => campaignId === query.campaignId);
    this.#goals = [...new Set(this.#own.flatMap(({ goal }) => goal?.event ?? []))];
  }

  sql(): string {
    const { merges, accountId } = this.#query;
    const names =
      merges === 'none'
        ? ''
        : `WITH merged AS (${mergedSql({ accountId, params: this.#params })}) `;
    const rows = [this.#messageRows(), ...(this.#goals.length > 0 ? [this.#goalRows()] : [])];
    const byGoal = `SELECT person, goal, ${FLAGS},
        arraySlice(arrayReverseSort(x -> (x.1, x.2, x.3, x.4), groupArrayArray(touches)), 1, ${MAX_TOUCHES}) AS ts, groupArrayArray(spans) AS ss, groupArrayArray(goals) AS gs
      FROM (${rows.join(' UNION ALL ')}) GROUP BY person, goal`;
    const attributed = nestedSelects(byGoal, [
      [`if(empty(gs), CAST([] AS ${GOALS}), ${HITS}) AS hs`],
      [
        `arrayFilter(h -> arrayFirst(x -> x.5 <= h.1 AND h.1 <= x.6, ts).7 = 1, hs) AS own`,
        `arrayExists(h -> arrayExists(s -> s.1 <= h.1 AND h.1 <= s.2, ss), hs) AS responds`,
      ],
    ]);
    const people = `SELECT person, ${FLAGS}, max(notEmpty(own)) AS converts, sum(arraySum(h -> h.2, own)) AS amount, max(responds) AS responds
      FROM (${attributed}) GROUP BY person`;
    const isControl = 'is_withheld AND NOT is_treated';
    return `${names}SELECT countIf(opens) AS opened, countIf(clicks) AS clicked, countIf(converts) AS converted, sum(amount) AS revenue,
        countIf(is_treated) AS treated, countIf(is_treated AND responds) AS treated_converted, countIf(${isControl}) AS control, countIf(${isControl} AND responds) AS control_converted
      FROM (${people})`;
  }

  #people(table: 'events' | 'messages' | 'messages FINAL') {
    const { merges, accountId } = this.#query;
    return peopleSql({ table, merges, accountId, params: this.#params }, 'merged');
  }

  get #account(): string {
    return `account_id = ${this.#params.whole(this.#query.accountId)}`;
  }

  get #campaign(): string {
    return `campaign_id = ${this.#params.whole(this.#query.campaignId)}`;
  }

  get #campaigns(): string {
    const ids = new Set(this.#query.runs.map(({ campaignId }) => campaignId));
    return `campaign_id IN ${this.#params.bind('Array(UInt64)', [...ids])}`;
  }

  /** The messages of all runs, by the primary key. */
  get #messages(): string {
    const ids = this.#query.runs.map(({ id }) => id);
    return `${this.#account} AND ${this.#campaigns} AND run_id IN ${this.#params.bind('Array(UInt64)', ids)} AND ${KEPT_MESSAGES}`;
  }

  #inPart(person: string): string {
    const { at, of } = this.#query.part;
    return of === 1 ? '1' : `${person} % ${this.#params.whole(of)} = ${this.#params.whole(at)}`;
  }

  /** Messages of the campaign, and sent ones of others to people for whom goal events count. */
  #wanted(person: string): string {
    const competing = `status = 'sent' AND ${this.#hasGoals(person)}`;
    return `${this.#messages} AND (${this.#campaign} OR ${competing}) AND ${this.#inPart(person)}`;
  }

  /** Whether goal events of the person may count: most people have none. */
  #hasGoals(person: string): string {
    if (this.#goals.length === 0) return '0';
    const events = this.#people('events');
    return `${person} IN (SELECT ${events.person} FROM ${events.source} WHERE ${this.#goalsOf(events.person)})`;
  }

  /** What the run of a message says. */
  #ofRun(value: (run: StatsRun) => number): string {
    const { runs } = this.#query;
    const ids = this.#params.bind(
      'Array(UInt64)',
      runs.map(({ id }) => id),
    );
    return `transform(run_id, ${ids}, ${this.#params.bind('Array(UInt64)', runs.map(value))}, 0)`;
  }

  #messageRows(): string {
    const { source, person } = this.#people('messages FINAL');
    const goal = this.#ofRun((run) => (run.goal ? this.#goals.indexOf(run.goal.event) + 1 : 0));
    const hours = this.#ofRun((run) => (run.goal?.windowMs ?? 0) / HOUR_MS);
    const control = this.#ofRun(({ hasControl }) => Number(hasControl));
    const messages = `SELECT ${person} AS person, ${this.#campaign} AS is_own, status, run_id AS run, sipHash64(message_id) AS id, toUInt64(${goal}) AS goal, goal > 0 AND ${this.#hasGoals(person)} AS counts,
        toUnixTimestamp64Milli(planned_at) AS planned, toUnixTimestamp64Milli(finished_at) AS sent, toInt64(${hours}) * ${HOUR_MS} AS lasting, goal > 0 AND ${control} = 1 AS is_compared
      FROM ${source} WHERE ${this.#wanted(person)}`;
    const touch = (kind: number, at: string) =>
      `(toUInt8(${kind}), ${at}, sent, run, greatest(${at}, sent), sent + lasting, is_own)`;
    const touches = `arrayConcat([${touch(TOUCH.sent, 'sent')}], if(open_at > 0, [${touch(TOUCH.opened, 'open_at')}], CAST([] AS ${TOUCHES})), arrayMap(c -> ${touch(TOUCH.clicked, 'c')}, click_times))`;
    return `SELECT person, goal, is_own AND status = 'sent' AND open_at > 0 AS opens, is_own AND status = 'sent' AND notEmpty(click_times) AS clicks,
        is_own AND is_compared AND status != 'withheld' AS is_treated, is_own AND is_compared AND status = 'withheld' AS is_withheld,
        if(counts AND status = 'sent', ${touches}, CAST([] AS ${TOUCHES})) AS touches, if(counts AND is_own AND is_compared, [(planned, planned + lasting)], CAST([] AS ${SPANS})) AS spans, CAST([] AS ${GOALS}) AS goals
      FROM (${messages}) AS handed LEFT ANY JOIN (${this.#touchRows()}) AS touching ON id = touched_id`;
  }

  /** By message: when it was first opened by a person (0: never), and the clicks on it. */
  #touchRows(): string {
    const from = Math.min(...this.#query.runs.map(({ frozenAt }) => frozenAt)) - CLOCK_SKEW_MS;
    const { source, person } = this.#people('messages');
    const known = `SELECT sipHash64(message_id) FROM ${source} WHERE ${this.#wanted(person)} AND status = 'sent'`;
    const events = `SELECT sipHash64(source_message_id) AS touched_id, event = 'message_clicked' AS is_click, toUnixTimestamp64Milli(timestamp) AS at FROM events
      WHERE ${this.#account} AND ${KEPT_EVENTS} AND (event = 'message_clicked' OR event = 'message_opened' AND source = 'platform') AND NOT is_bot AND source_message_id != ''
        AND ${sinceSql(from, this.#params)}`;
    const late = `SELECT sipHash64(message_id) AS touched_id, 0 AS is_click, toUnixTimestamp64Milli(opened_by_person_at) AS at FROM message_opens WHERE ${this.#account} AND ${this.#campaigns}`;
    return `SELECT touched_id, minIf(at, NOT is_click) AS open_at, arrayMap(c -> -c, groupArraySortedIf(${MAX_CLICKS})(-at, is_click)) AS click_times FROM (${events} UNION ALL ${late}) WHERE touched_id IN (${known}) GROUP BY touched_id`;
  }

  #goalRows(): string {
    const { source, person } = this.#people('events');
    const names = this.#params.bind('Array(String)', this.#goals);
    return `SELECT ${person} AS person, toUInt64(indexOf(${names}, event)) AS goal, 0 AS opens, 0 AS clicks, 0 AS is_treated, 0 AS is_withheld,
        CAST([] AS ${TOUCHES}) AS touches, CAST([] AS ${SPANS}) AS spans, [(toUnixTimestamp64Milli(timestamp), revenue)] AS goals
      FROM ${source} WHERE ${this.#goalsOf(person)}`;
  }

  /** The goal events of the campaign's recipients. */
  #goalsOf(person: string): string {
    const { now } = this.#query;
    const names = this.#params.bind('Array(String)', this.#goals);
    const from = Math.min(...this.#own.map(({ frozenAt }) => frozenAt)) - CLOCK_SKEW_MS;
    const ends = this.#own.map(
      ({ finishedAt = now, goal }) => finishedAt + (goal?.windowMs ?? 0) + CLOCK_SKEW_MS,
    );
    const platform = this.#params.bind('Array(String)', this.#goals.filter(isPlatformEvent));
    const to = this.#people('messages');
    const recipients = `SELECT ${to.person} FROM ${to.source} WHERE ${this.#messages} AND ${this.#campaign} AND ${this.#inPart(to.person)}`;
    return `${this.#account} AND ${KEPT_EVENTS} AND event IN ${names} AND NOT is_bot AND (source = 'platform' OR event NOT IN ${platform})
      AND ${sinceSql(from, this.#params)} AND ${untilSql(Math.max(0, ...ends), this.#params)} AND ${person} IN (${recipients})`;
  }
}
