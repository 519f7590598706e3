import { countText, timeText } from '../../cli/format.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { TableComparison } from './compare.ts';
import { retentionRuns } from './deleted-rows.ts';
import type { RebuildCounts } from './rebuild-job.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';

interface SwapState {
  line: RebuildLine;
  /** When the rebuild began, or the swap that is undone, ms since the epoch. */
  since: number;
  counts: RebuildCounts;
  /** What the log does not hold, one sentence each. */
  gaps: readonly string[];
  comparison: TableComparison | null;
}

/** Why the tables must not be exchanged, one sentence; undefined: nothing speaks against it. */
export async function swapObstacle(
  database: Pick<Database, 'query'>,
  { line, since, counts, gaps, comparison }: SwapState,
): Promise<string | undefined> {
  const { table } = PROJECTION[line.projection];
  const [gap, ...more] = gaps;
  if (gap !== undefined && !line.acceptGaps)
    return `the rebuilt table lacks what the log does not hold: ${gap}${more.length > 0 ? `, and ${more.length} more` : ''}. --accept-gaps swaps it in nevertheless`;
  if (counts.shortest_window !== null && !line.acceptGaps)
    return `where no verdicts are retained, deduplication covered only ${Math.floor(counts.shortest_window / 60_000)} minutes, so the rebuilt table may hold events twice. --accept-gaps swaps it in nevertheless`;
  if (comparison && comparison.differing > line.maxDiffering)
    return `${countText(comparison.differing)} differ, and --max-differing is ${countText(line.maxDiffering)}`;
  const changed = await changesSince(database, { line, since });
  if (changed !== undefined && !(line.undo && line.acceptGaps))
    return `${changed} since ${timeText(since)}, and the other table may lack it: ${line.undo ? '--accept-gaps undoes the swap nevertheless' : `begin again with --cancel and a new rebuild`}`;
  if (line.projection === 'events' && (await retentionRuns(database)))
    return `retention is deleting rows of ${table}: run the same command again when it has finished`;
  return undefined;
}

/** What wrote rows into the live table beside its service. */
async function changesSince(
  database: Pick<Database, 'query'>,
  { line, since }: { line: RebuildLine; since: number },
): Promise<string | undefined> {
  if (PROJECTION[line.projection].isOfOwnTopic) return undefined;
  const from = new Date(since);
  // Only replays of earlier releases changed more than `events`: they revived dead letters.
  const count = line.projection === 'events' ? 'new' : 'revived';
  const replays = await database.query<{ id: string; state: string }>(
    `SELECT id, state FROM log_jobs WHERE kind = 'replay' AND target = 'events' AND (state = 'running' AND $2 = 'new'
       OR coalesce(finished_at, updated_at) >= $1 AND (counts ->> $2)::bigint > 0) ORDER BY id LIMIT 1`,
    [from, count],
  );
  const [replay] = replays.rows;
  if (replay)
    return replay.state === 'running'
      ? `a replay into the live table (job ${replay.id}) has not finished`
      : `a replay (job ${replay.id}) has added rows to the live table`;
  if (line.projection !== 'events') return undefined;
  const redriven = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM dead_letters WHERE stage = 'project' AND state IN ('redriving', 'redriven') AND changed_at >= $1`,
    [from],
  );
  const n = redriven.rows[0]?.n ?? 0;
  return n > 0 ? `a redrive has stored ${countText(n)} dead letters in the live table` : undefined;
}
