import { createHash } from 'node:crypto';
import type { Merges } from '../../../audiences/people-sql.ts';
import { AccountBusy } from '../../limits/account-slots.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { Log } from '../../../platform/log.ts';
import {
  changeBetween,
  holdSameRows,
  partsOfChangedMonths,
  type PartCounts,
} from './compare-states.ts';
import {
  AHEAD_MS,
  compilePartCounts,
  compileState,
  compileTables,
  NONE_EXPIRES_MS,
  readState,
  tablesIn,
  type ReadState,
  type StateRow,
} from './data-state.ts';
import type { KeptAnswer, KeptAnswers } from './kept-answers.ts';
import type { ReportReads } from './reads.ts';

/** Parts whose rows are counted for one report; where more changed, the report runs again. */
const MAX_COUNTED_PARTS = 500;
/** Warnings about a cache that cannot be used, ms between them. */
const WARN_EVERY_MS = 600_000;

/** The rows of a statement, and how many rows of tables the statement read. */
export interface ReportRows {
  rows: unknown[];
  rowsRead: number;
}

export interface CachedQuery {
  accountId: number;
  /** What `compiled` is for; undefined: the state shows it. */
  merges?: Merges | undefined;
  /** Where the merges are not known, the statement of an account without aliases: it is the key. */
  compiled: CompiledQuery;
  reads: ReportReads;
  signal: AbortSignal;
  /** Where the statement contains the moment of asking, which the key leaves out. */
  moment?: { asOf: number; key: unknown } | undefined;
}

interface Cache {
  kept: KeptAnswers;
  /** Rows of a statement that takes milliseconds. */
  readFew: <Row>(
    compiled: CompiledQuery,
    turn: { accountId: number; signal: AbortSignal },
  ) => Promise<Row[]>;
  log: Log;
  now: () => number;
  /** Called for each answer without a run: an earlier one, or that no event is stored. */
  onKnown?: (answer: 'kept' | 'empty') => void;
}

/**
 * The rows of a report: those of an earlier request where nothing has changed since that could
 * change them, and otherwise those of `run`. The key is the statement with its parameters, so a
 * request is the same when it compiles to the same question. docs/decisions/0013-report-cache.md
 * says what is compared, and why it is exact. `run` is given the merges of the account, where the
 * state could be read.
 */
export function cachedRows({ kept, readFew, log, now, onKnown }: Cache) {
  let warnedAt = Number.NEGATIVE_INFINITY;

  const stateOf = async (
    query: CachedQuery,
    {
      asksNeeded = false,
      asksExpiring = false,
      between,
    }: {
      asksNeeded?: boolean;
      asksExpiring?: boolean;
      between?: { from: number; to: number } | undefined;
    } = {},
  ): Promise<ReadState | undefined> => {
    const { accountId, reads, signal } = query;
    try {
      const asks = { now: now(), asksNeeded, asksExpiring, between };
      const compiled = compileState({ accountId, reads, ...asks });
      return readState(await readFew(compiled, { accountId, signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AccountBusy) && now() - warnedAt >= WARN_EVERY_MS) {
        warnedAt = now();
        log.warn(
          { err: error, code: 'report_cache_unavailable' },
          'the state of the tables cannot be read; reports run without their cache',
        );
      }
      return undefined;
    }
  };

  /**
   * A rebuild may exchange the tables between the state and the report. Later states show it,
   * unless it was undone by then.
   */
  const tablesOf = async ({ accountId, signal }: CachedQuery): Promise<string | undefined> =>
    readFew<StateRow>(compileTables(), { accountId, signal }).then(tablesIn, () => undefined);

  /** Undefined: not counted. */
  const countsOf = async (
    { accountId, reads, signal }: CachedQuery,
    parts: readonly string[],
  ): Promise<PartCounts | undefined> => {
    if (parts.length > MAX_COUNTED_PARTS) return undefined;
    if (parts.length === 0) return new Map();
    try {
      const compiled = compilePartCounts({ accountId, reads, parts });
      const rows = await readFew<{ part: string; rows: number }>(compiled, { accountId, signal });
      const found = new Map(rows.map((row) => [row.part, row.rows]));
      return new Map(parts.map((part) => [part, found.get(part) ?? 0]));
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  };

  /** Of parts that exist before and after: one that a merge ends meanwhile counts nothing. */
  const countsOfLive = async (
    query: CachedQuery,
    parts: readonly string[],
  ): Promise<PartCounts | undefined> => {
    const counts = await countsOf(query, parts);
    if (!counts || counts.size === 0) return counts;
    const live = new Set((await stateOf(query))?.state.parts);
    return new Map([...counts].filter(([part]) => live.has(part)));
  };

  return async (
    asked: CachedQuery,
    run: (merges: Merges | undefined) => Promise<ReportRows>,
  ): Promise<ReportRows> => {
    const { accountId, compiled, moment } = asked;
    const key = keyOf(moment ? [accountId, moment.key] : [compiled.sql, compiled.params]);
    const earlier = kept.get(key);
    const { asOf } = moment ?? { asOf: 0 };
    const holds = earlier && earlier.asOf <= asOf && asOf <= earlier.holdsUntil;
    const between =
      earlier && !holds
        ? { from: Math.min(asOf, earlier.asOf), to: Math.max(asOf, earlier.asOf) }
        : undefined;
    // a state is only comparable with one of the same reads
    const query = { ...asked, reads: earlier?.reads ?? asked.reads };
    const askedAt = now();
    const known = (earlier?.noneExpiresUntil ?? 0) >= askedAt ? earlier : undefined;
    const asksExpiring = known === undefined;
    const found = await stateOf(query, { asksNeeded: !earlier, asksExpiring, between });
    if (found?.hasNeeded === false) {
      onKnown?.('empty');
      return { rows: [], rowsRead: 0 };
    }
    const merges = found && (found.hasAliases ? 'table' : 'none');
    // the statement must fit the aliases that the state shows
    const fits = asked.merges === undefined || asked.merges === merges;
    if (!found?.isComparable || !fits) return run(merges);
    const { state, unchangedUntil } = found;
    const hasLeft = between !== undefined && unchangedUntil < between.to;
    const times = {
      noneExpiresUntil: known?.noneExpiresUntil ?? askedAt + NONE_EXPIRES_MS,
      asOf: Math.max(asOf, earlier?.asOf ?? asOf),
      holdsUntil: between
        ? Math.min(unchangedUntil, between.to + AHEAD_MS)
        : (earlier?.holdsUntil ?? asOf),
    };
    const { reads } = query;
    const change = earlier && changeBetween(earlier.state, state);
    let counts: PartCounts = new Map();
    if (earlier && change?.kind === 'none' && !hasLeft) {
      if (asksExpiring || times.asOf !== earlier.asOf || times.holdsUntil !== earlier.holdsUntil)
        kept.set(key, { accountId, answer: { ...earlier, ...times } });
      onKnown?.('kept');
      return rowsOf(earlier);
    }
    if (earlier && change?.kind === 'parts') {
      const areCounted = change.gone.every((part) => earlier.counts.has(part));
      const wanted = areCounted ? change.added : partsOfChangedMonths(state.parts, change);
      const counted = await countsOfLive(query, wanted);
      counts = new Map([...earlier.counts, ...(counted ?? [])]);
      const isSame = !hasLeft && holdSameRows(change, counts);
      const present = new Set(state.parts);
      counts = new Map([...counts].filter(([part]) => present.has(part)));
      if (isSame) {
        const answer = { ...earlier, state, counts, ...times };
        kept.set(key, { accountId, answer });
        onKnown?.('kept');
        return rowsOf(answer);
      }
    }
    const ranAt = now();
    const result = await run(merges);
    if ((await tablesOf(query)) === state.tables)
      kept.set(key, {
        accountId,
        answer: {
          ...{ ranAt, rows: JSON.stringify(result.rows), rowsRead: result.rowsRead },
          ...{ reads, state, counts, asOf, holdsUntil: asOf },
          // nobody has looked whether what has come since is about to expire
          noneExpiresUntil: asksExpiring ? times.noneExpiresUntil : 0,
        },
      });
    return result;
  };
}

function rowsOf({ rows, rowsRead }: KeptAnswer): ReportRows {
  return { rows: JSON.parse(rows) as unknown[], rowsRead };
}

function keyOf(asked: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(asked)).digest('base64');
}
