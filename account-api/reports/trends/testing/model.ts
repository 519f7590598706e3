import { distinctIdOf } from '../../../../events/event-name.ts';
import type { EventRow } from '../../../../schemas/records.ts';
import {
  breakdownGroups,
  breakdownText,
  eventsByPerson,
  matches,
  type Dataset,
} from '../../testing/dataset.ts';
import type { SeriesAnswer, TrendsAnswer } from '../answer.ts';
import { periodStartsOf } from '../periods.ts';
import type { TrendsRequest } from '../request.ts';

/** An event that counts in a series. */
interface Counted {
  series: number;
  person: string;
  event: EventRow;
}

/** Trends literally as docs/reports.md defines them. The SQL is compared with it. */
export function trendsModel(
  dataset: Dataset,
  request: TrendsRequest,
  freshUntil: number,
): Omit<TrendsAnswer, 'meta'> {
  const starts = periodStartsOf(request);
  const [begin = 0, end = 0] = [starts[0], starts.at(-1)];
  const counted = [...eventsByPerson(dataset, request).values()].flatMap((events) =>
    events
      .filter(({ timestamp }) => timestamp >= begin && timestamp < end)
      .flatMap((event) =>
        request.series.flatMap((one, series): Counted[] =>
          matches(dataset, one, event) ? [{ series, person: personOf(dataset, event), event }] : [],
        ),
      ),
  );
  const { breakdown } = request;
  const over = starts.slice(1).filter((one) => one <= freshUntil).length;
  return {
    periods: starts.slice(0, -1).map((start) => new Date(start).toISOString()),
    ...(over < starts.length - 1 ? { incomplete_from: over } : {}),
    series: seriesOf(request, counted),
    ...(breakdown
      ? {
          breakdown: breakdownGroups(counted, {
            limit: breakdown.limit,
            textOf: ({ event }) => breakdownText(dataset, breakdown.target, event),
          }).map(({ members, ...listed }) => ({ ...listed, series: seriesOf(request, members) })),
        }
      : {}),
  };
}

function personOf(dataset: Dataset, event: EventRow): string {
  const name = distinctIdOf(event);
  return dataset.canonical.get(name) ?? name;
}

function seriesOf(request: TrendsRequest, counted: readonly Counted[]): SeriesAnswer[] {
  const starts = periodStartsOf(request);
  return request.series.map(({ label, measure, property = '' }, at) => {
    const own = counted.filter(({ series }) => series === at);
    const measured = (some: readonly Counted[]): number | null => {
      const numbers = some.flatMap(({ event }) => event.property_numbers[property] ?? []);
      const sum = numbers.reduce((total, one) => total + one, 0);
      switch (measure) {
        case 'events':
          return some.length;
        case 'people':
          return new Set(some.map(({ person }) => person)).size;
        case 'sum':
          return sum;
        case 'average':
          return numbers.length === 0 ? null : sum / numbers.length;
      }
    };
    const within = (period: number) =>
      own.filter(
        ({ event }) =>
          event.timestamp >= (starts[period] ?? 0) && event.timestamp < (starts[period + 1] ?? 0),
      );
    return {
      event: label,
      measure,
      total: measured(own),
      values: starts.slice(0, -1).map((_, period) => measured(within(period))),
    };
  });
}
