import { table } from '../../cli/terminal.ts';
import { countText, spanText } from '../../cli/format.ts';
import { groupLags, type Lag } from './evaluate.ts';

/** A row per group and topic, then its partitions with lag, or all (`everyPartition`). */
export function lagLines(
  partitions: readonly Lag[],
  { everyPartition }: { everyPartition: boolean },
): string[] {
  if (partitions.length === 0) return ['no consumer group reads from this cluster'];
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
  const { records, age, readRate, appendRate, retentionUsed } = lag;
  return [
    countText(records),
    records === 0 ? '-' : age === undefined ? 'unknown' : spanText(age),
    countText(Math.round(readRate)),
    countText(Math.round(appendRate)),
    records === 0 ? '-' : catchUpText(lag),
    retentionUsed === undefined ? '-' : `${Math.round(retentionUsed * 100)}%`,
  ];
}

function catchUpText({ catchUpSeconds, readRate }: Lag): string {
  if (catchUpSeconds !== undefined) return spanText(catchUpSeconds * 1000);
  return readRate === 0 ? 'not reading' : 'never at this rate';
}
