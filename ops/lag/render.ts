import { table } from '../../cli/terminal.ts';
import { countText, spanText } from '../../cli/format.ts';
import { groupLags, type Lag } from './evaluate.ts';

/**
 * Lines for people: a row a group and topic, then its partitions that are behind (all of them when
 * asked for).
 */
export function lagLines(
  partitions: readonly Lag[],
  { everyPartition }: { everyPartition: boolean },
): string[] {
  if (partitions.length === 0) return ['no group reads anything here'];
  const rows: string[][] = [];
  for (const group of groupLags(partitions)) {
    rows.push([group.topic, group.group, 'all', ...figures(group)]);
    for (const lag of partitions) {
      const isShown =
        lag.group === group.group &&
        lag.topic === group.topic &&
        (everyPartition || lag.records > 0 || lag.warning !== undefined);
      if (isShown) rows.push(['', '', String(lag.partition), ...figures(lag)]);
    }
  }
  return table(
    [
      'topic',
      'group',
      'partition',
      'unread',
      'behind',
      'read/s',
      'new/s',
      'caught up in',
      'retention used',
    ],
    rows,
  );
}

function figures(lag: Lag): string[] {
  const { records, age, rate, arriving, retentionUsed } = lag;
  return [
    countText(records),
    records === 0 ? '-' : age === undefined ? 'unknown' : spanText(age),
    countText(Math.round(rate)),
    countText(Math.round(arriving)),
    records === 0 ? '-' : catchUpText(lag),
    retentionUsed === undefined ? '-' : `${Math.round(retentionUsed * 100)}%`,
  ];
}

function catchUpText({ catchUp, rate }: Lag): string {
  if (catchUp !== undefined) return spanText(catchUp * 1000);
  return rate === 0 ? 'stands still' : 'never at this pace';
}
