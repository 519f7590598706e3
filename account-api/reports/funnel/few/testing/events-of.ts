import { isPlatformEvent } from '../../../../../events/event-name.ts';
import { breakdownText, eventsByPerson, matches, type Dataset } from '../../../testing/dataset.ts';
import { firstInstant, GAP_SHIFT } from '../../event-arrays.ts';
import type { FunnelRequest } from '../../request.ts';
import type { EventColumns } from '../compile-events.ts';
import { SEQUENCE_BIT } from '../funnel-events.ts';

/** What the statement of `compileEvents` reads from a dataset. */
export function eventsOf(dataset: Dataset, request: FunnelRequest): Required<EventColumns> {
  const columns: Required<EventColumns> = { person: [], t: [], bits: [], value: [] };
  const { range, windowMs, order, breakdown } = request;
  const from = firstInstant(request);
  for (const [person, events] of eventsByPerson(dataset, request))
    for (const event of events) {
      const { timestamp, type } = event;
      if (timestamp < from || timestamp > range.to + windowMs) continue;
      let mask = 0;
      for (const [at, step] of request.steps.entries())
        if (matches(dataset, step, event)) mask |= 1 << at;
      if (order !== 'any' && timestamp >= range.to) mask &= ~1;
      let gaps = 0;
      for (const exclusion of request.exclude)
        if (matches(dataset, exclusion, event))
          for (let gap = exclusion.fromStep; gap < exclusion.toStep; gap++) gaps |= 1 << (gap - 1);
      const isMember =
        order === 'strict' &&
        ['track', 'page', 'screen'].includes(type) &&
        !isPlatformEvent(event.event);
      if (mask === 0 && gaps === 0 && !isMember) continue;
      columns.person.push(person);
      columns.t.push(timestamp - from + 1);
      columns.bits.push(mask | (gaps << GAP_SHIFT) | (Number(isMember) << SEQUENCE_BIT));
      columns.value.push(breakdown ? breakdownText(dataset, breakdown.target, event) : null);
    }
  return columns;
}
