import type { Entry } from '../entry.ts';
import { SESSION, SHOWN } from '../storage-keys.ts';
import type { Campaign } from './campaign.ts';

const FOR_EVER = 'once';

/** Which campaigns this browser has shown: the host knows them only some time later. */
export function openShown(entry: Entry) {
  const sessionId = () => /"id":"([^"]+)/.exec(entry.get(SESSION) ?? '')?.[1] ?? '';
  return {
    has({ id, frequency }: Campaign): boolean {
      const shownIn = entry.get(`${SHOWN}${id}`);
      return (
        frequency !== 'always' && (shownIn === FOR_EVER || (!!shownIn && shownIn === sessionId()))
      );
    },
    add({ id, frequency }: Campaign): void {
      if (frequency !== 'always')
        entry.set(`${SHOWN}${id}`, frequency === 'once' ? FOR_EVER : sessionId());
    },
  };
}
