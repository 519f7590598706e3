import type { FewEvents } from '../few-events/few-events.ts';
import { countedPaths } from '../funnel/few/compute-rows.ts';
import { eventsOfFunnel } from '../funnel/few/funnel-of-few.ts';
import { compileListed } from './compile.ts';
import type { PeopleRequest } from './request.ts';

/** The people of a funnel's step from its events; the other reports have no such search. */
export function peopleOfFew(asked: PeopleRequest, accountId: number): FewEvents | undefined {
  if (asked.kind !== 'funnel') return undefined;
  const { step, isLost } = asked;
  const request = { ...asked.request, breakdown: undefined };
  return eventsOfFunnel(request, accountId, (columns) => {
    const hashes = countedPaths(request, columns)
      .filter(({ path }) => (isLost ? path.length === step - 1 : path.length >= step))
      .map(({ person }) => BigInt(person));
    return hashes.length === 0 ? [] : compileListed(hashes, accountId);
  });
}
