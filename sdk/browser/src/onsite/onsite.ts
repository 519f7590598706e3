import { idAt } from '../clock.ts';
import type { Entry } from '../entry.ts';
import { addressOf, postTo } from '../request.ts';
import type { OnsiteOptions } from '../types.ts';
import type { Campaign } from './campaign.ts';
import { openResponses } from './responses.ts';
import { show } from './show.ts';
import { openShown } from './shown.ts';
import { visitorOf } from './visitor.ts';

const TIMEOUT_MS = 10_000;

/** @returns shows the campaigns of the address, one after another */
export function open(entry: Entry, options: boolean | OnsiteOptions): () => void {
  const { allowHtml = false } = typeof options === 'object' ? options : {};
  const shown = openShown(entry);
  const responses = openResponses(entry);
  let queue = Promise.resolve();
  let lastTurn = 0;

  const report = (campaign: Campaign, action: 'shown' | 'clicked' | 'dismissed') => {
    const message_id = idAt(Date.now());
    const interaction = { campaign_id: campaign.id, ...visitorOf(entry), action, message_id };
    if (entry.maySend()) void postTo(entry, '/v1/onsite/event', interaction);
  };

  const showAll = async (turn: number) => {
    for (const campaign of await campaignsOf(entry)) {
      // The visitor has gone on to another address.
      if (turn !== lastTurn || !entry.maySend()) return;
      if (shown.has(campaign)) continue;
      shown.add(campaign);
      report(campaign, 'shown');
      await show(campaign, {
        allowHtml,
        clicked: () => report(campaign, 'clicked'),
        dismissed: () => report(campaign, 'dismissed'),
        submit: (answers) => responses.send({ campaign_id: campaign.id, answers }),
      });
    }
  };

  responses.sendWaiting().catch(entry.fail);
  return () => {
    const turn = ++lastTurn;
    queue = queue.then(() => showAll(turn)).catch(entry.fail);
  };
}

/** None when the host cannot say. */
async function campaignsOf(entry: Entry): Promise<Campaign[]> {
  const { user_id, anonymous_id } = visitorOf(entry);
  const query = { url: location.href, anonymous_id, ...(user_id && { user_id }) };
  try {
    const response = await fetch(addressOf(entry, '/v1/onsite', query), {
      credentials: 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return ((await response.json()) as { campaigns?: Campaign[] }).campaigns ?? [];
  } catch {
    return [];
  }
}
