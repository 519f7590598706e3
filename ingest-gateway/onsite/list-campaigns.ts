import { fitsBytes } from '../../events/bytes.ts';
import { isDueAgain, isTargeted } from '../../events/channels/onsite/targeting.ts';
import {
  visitorHash,
  visitorText,
  type VisitorHash,
} from '../../events/channels/onsite/visitor.ts';
import { MAX_ID_BYTES } from '../../events/event-name.ts';
import type { LiveCampaign, OnsiteCatalogue } from './catalogue.ts';
import type { Members } from './members.ts';
import type { Memberships } from './memberships.ts';
import type { ShownCampaigns } from './shown-campaigns.ts';

/** Somebody who opens a page. */
export interface PageVisit {
  accountId: number;
  url: string;
  /** Empty when absent. */
  userId: string;
  anonymousId: string;
  /** ms since the epoch */
  now: number;
}

export interface ListPorts {
  catalogue: Pick<OnsiteCatalogue, 'ofPage'>;
  memberships: Pick<Memberships, 'matching'>;
  shown: Pick<ShownCampaigns, 'of'>;
}

/** A page shows no more of them; those with the smallest ids. */
const MAX_LISTED = 100;

/**
 * The campaigns for a page, as the members of a JSON list: targeted at it and the visitor, and due.
 * Works in memory; only campaigns of frequency once and session may wait for the store, and not for
 * long. Never rejects.
 */
export function listCampaigns(visit: PageVisit, ports: ListPorts): string[] | Promise<string[]> {
  const { accountId, url, now } = visit;
  const ids = [visit.userId, visit.anonymousId].filter(
    (id) => id !== '' && fitsBytes(id, MAX_ID_BYTES),
  );
  let hashes: VisitorHash[] | undefined;
  const hashesOf = () => (hashes ??= ids.map((id) => visitorHash(accountId, id)));
  let audiences: ReadonlySet<Members> | undefined;
  const isMember = (audience: Members): boolean =>
    (audiences ??= ports.memberships.matching(accountId, hashesOf())).has(audience);
  const visitor = { url, now, isMember };
  const targeted = ports.catalogue
    .ofPage(accountId, url)
    .filter((campaign) => campaign.enabled && isTargeted(campaign, visitor));
  const isCapped = targeted.some(({ frequency }) => frequency !== 'always');
  if (!isCapped || ids.length === 0) return listed(targeted);
  return listDue(targeted, { accountId, hashes: hashesOf(), now, shown: ports.shown });
}

async function listDue(
  targeted: readonly LiveCampaign[],
  context: Pick<PageVisit, 'accountId' | 'now'> &
    Pick<ListPorts, 'shown'> & { hashes: readonly VisitorHash[] },
): Promise<string[]> {
  const { accountId, hashes, now, shown } = context;
  const seen = await Promise.all(
    hashes.map(async (hash) => shown.of({ accountId, hash: visitorText(hash) })),
  );
  return listed(
    targeted.filter(({ id, frequency }) =>
      seen.every((shownAt) => isDueAgain(frequency, { shownAt: shownAt.get(id), now })),
    ),
  );
}

function listed(campaigns: readonly LiveCampaign[]): string[] {
  return campaigns.slice(0, MAX_LISTED).map(({ json }) => json);
}
