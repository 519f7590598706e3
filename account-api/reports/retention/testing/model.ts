import type { EventRow } from '../../../../schemas/records.ts';
import { dayOf } from '../../../../audiences/conditions/time-zone.ts';
import {
  breakdownGroups,
  breakdownText,
  eventsByPerson,
  matches,
  type Dataset,
} from '../../testing/dataset.ts';
import type { CohortAnswer, RetentionAnswer } from '../answer.ts';
import { nextPeriod, periodsOf, periodStart } from '../periods.ts';
import type { RetentionRequest } from '../request.ts';

/** A person in a cohort, and the periods since then in which they returned. */
interface Member {
  /** First day of the cohort's period. */
  cohort: number;
  first: EventRow;
  returned: number[];
}

/**
 * A literal implementation of (reports: Retention): cohort by cohort, person by person, period by
 * period. The SQL is compared with it.
 */
export function retentionModel(
  dataset: Dataset,
  request: RetentionRequest,
  freshUntil: number,
): Omit<RetentionAnswer, 'meta'> {
  const cohorts = cohortDays(request);
  const members = [...eventsByPerson(dataset, request).values()].flatMap((events) =>
    cohorts.flatMap((cohort) => memberOf({ dataset, request, events, cohort }) ?? []),
  );
  const answers = cohortAnswers(request, freshUntil, members);
  const { breakdown } = request;
  if (!breakdown) return { cohorts: answers };
  const groups = breakdownGroups(members, {
    limit: breakdown.limit,
    textOf: ({ first }) => breakdownText(dataset, breakdown.target, first),
  });
  return {
    cohorts: answers,
    breakdown: groups.map(({ members: some, ...listed }) => ({
      ...listed,
      cohorts: cohortAnswers(request, freshUntil, some),
    })),
  };
}

function cohortDays({ range, rule }: RetentionRequest): number[] {
  const days: number[] = [];
  for (
    let day = periodStart(dayOf(range.from, range.timeZone), rule);
    day <= dayOf(range.to - 1, range.timeZone);
    day = nextPeriod(day, rule)
  ) {
    days.push(day);
  }
  return days;
}

function periodOf(event: EventRow, { range, rule }: RetentionRequest): number {
  return periodStart(dayOf(event.timestamp, range.timeZone), rule);
}

function memberOf(options: {
  dataset: Dataset;
  request: RetentionRequest;
  events: readonly EventRow[];
  cohort: number;
}): Member | undefined {
  const { dataset, request, events, cohort } = options;
  const starts = events.filter((event) => matches(dataset, request.start, event));
  const first =
    request.mode === 'first_time'
      ? starts[0]
      : starts.find((event) => periodOf(event, request) === cohort);
  if (!first || periodOf(first, request) !== cohort) return undefined;
  const backs = events.filter((event) => matches(dataset, request.return, event));
  const returned: number[] = [];
  for (
    let n = 0, period = cohort;
    n < request.periods;
    n++, period = nextPeriod(period, request.rule)
  ) {
    const inPeriod = backs.filter((event) => periodOf(event, request) === period);
    const counted =
      n === 0
        ? inPeriod.filter((event) => event.timestamp >= first.timestamp && event !== first)
        : inPeriod;
    if (counted.length > 0) returned.push(n);
  }
  return { cohort, first, returned };
}

function cohortAnswers(
  request: RetentionRequest,
  freshUntil: number,
  members: readonly Member[],
): CohortAnswer[] {
  const { labels, starts } = periodsOf(request);
  return cohortDays(request).map((day, at) => {
    const inCohort = members.filter((member) => member.cohort === day);
    const answer: CohortAnswer = { start: labels[at] ?? '', size: inCohort.length, returned: [] };
    for (let n = 0; n < request.periods; n++) {
      const [begins, ends] = [starts[at + n] ?? Infinity, starts[at + n + 1] ?? Infinity];
      if (begins > freshUntil) break;
      if (ends > freshUntil) answer.incomplete_from ??= n;
      answer.returned.push(inCohort.filter((member) => member.returned.includes(n)).length);
    }
    return answer;
  });
}
