import type { CsvTable } from '../../shared/report/csv.ts';
import type { FunnelAnswer } from './answer.ts';

/** One row for each step, of all people and of each value of a breakdown. */
export function funnelCsv({ steps, breakdown = [] }: FunnelAnswer): CsvTable {
  const groups = [{ label: '', steps }, ...breakdown.map(labelled)];
  return {
    header: [
      ...['value', 'step', 'event', 'count', 'conversion_from_previous', 'conversion_from_first'],
      ...['median_seconds_from_previous', 'p90_seconds_from_previous'],
    ],
    rows: groups.flatMap(({ label, steps: of }) =>
      of.map((step, at) => [
        ...[label, at + 1, step.event, step.count],
        ...[step.conversion_from_previous, step.conversion_from_first],
        ...[step.median_seconds_from_previous, step.p90_seconds_from_previous],
      ]),
    ),
  };
}

function labelled({ value, other, steps }: NonNullable<FunnelAnswer['breakdown']>[number]) {
  return { label: other ? '(other)' : (value ?? '(none)'), steps };
}
