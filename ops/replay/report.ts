import { countText } from '../../cli/format.ts';
import { table } from '../../cli/terminal.ts';
import type { Difference, ReplayCounts } from './classify.ts';
import type { PartitionRange } from './log-ranges.ts';

export interface Report {
  command: string;
  dry_run: boolean;
  state: 'finished' | 'stopped' | 'cancelled';
  job: number | null;
  /** Offsets of the replayed topic, `last` included. */
  ranges: { partition: number; first: number; last: number }[];
  /** Records at the end of the range that the live services still process. */
  left_to_live: number;
  counts: ReplayCounts;
  differences: Difference[];
  /** Always null: a replay changes no profile. `--json` keeps the key. */
  profiles: null;
  seconds: number;
}

export function rangesOf(ranges: readonly PartitionRange[]): Report['ranges'] {
  return ranges
    .filter(({ from, to }) => to > from)
    .map(({ partition, from, to }) => ({ partition, first: from, last: to - 1 }));
}

/** The report for people. */
export function reportLines(report: Report): string[] {
  const { counts, dry_run: isDry } = report;
  const rows: [string, number, string][] = [
    [
      isDry ? 'new' : 'added',
      counts.new - counts.refused,
      isDry ? 'no row at their position: a replay would add them' : 'rows that were missing',
    ],
    ['already stored', counts.stored, 'nothing to do'],
    [
      'would change',
      counts.would_change,
      "today's normalisation gives a different row; only ./ravand rebuild changes rows",
    ],
    ['expired', counts.expired, 'older than the retention of their account, or than 400 days'],
    ['duplicates', counts.duplicate, 'the event is stored at another position'],
    ['dead', counts.dead, 'wait as dead letters, or cannot be processed today: ./ravand dlq'],
  ];
  if (counts.refused > 0) rows.push(['refused', counts.refused, 'ClickHouse refuses these rows']);
  const lines = [
    `${isDry ? 'dry run of ' : ''}${report.command}${report.job === null ? '' : ` (job ${report.job})`}`,
    `${countText(counts.records)} records, ${countText(counts.events)} events checked in ${report.seconds.toFixed(1)} s`,
    '',
    ...table(
      ['verdict', 'events', ''],
      rows.map(([name, count, why]) => [name, countText(count), why]),
    ),
  ];
  if (counts.unreadable > 0)
    lines.push('', `${countText(counts.unreadable)} records cannot be decoded: ./ravand dlq`);
  if (report.left_to_live > 0)
    lines.push(
      '',
      `${countText(report.left_to_live)} records at the end are left to the live services, which have not stored them yet: ./ravand lag`,
    );
  if (report.differences.length > 0) {
    const shown = report.differences.map(({ place, account, message_id, columns }) => [
      place,
      String(account),
      message_id,
      columns.join(', '),
    ]);
    lines.push('', ...table(['position', 'account', 'message id', 'columns that differ'], shown));
  }
  if (report.state === 'stopped')
    lines.push(
      '',
      'stopped; run the same command to resume, or ./ravand replay --cancel to end it: added rows stay',
    );
  return lines;
}
