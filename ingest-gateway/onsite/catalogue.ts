import type { OnsiteDefinition } from '../../events/channels/onsite/definition.ts';
import type { Targeting } from '../../events/channels/onsite/targeting.ts';
import type { Members } from './members.ts';
import { CampaignsByPage } from './campaigns-by-page.ts';
import { audienceId, type AudienceId, type Memberships } from './memberships.ts';

/** A campaign as it is stored. */
export interface StoredCampaign {
  id: number;
  accountId: number;
  definition: OnsiteDefinition;
  /** Key of its audience; undefined: everybody. */
  audience: string | undefined;
  /** ms since the epoch; -Infinity and Infinity when open. */
  startsAt: number;
  endsAt: number;
  enabled: boolean;
  updatedAt: number;
}

/** A campaign, ready to be shown. */
export interface LiveCampaign
  extends Targeting<Members>, Pick<OnsiteDefinition, 'kind' | 'frequency'> {
  id: number;
  /** Of the audience in `memberships`. */
  audienceId: AudienceId | undefined;
  fields: OnsiteDefinition['fields'];
  enabled: boolean;
  /** Interactions are accepted until then, ms since the epoch. */
  knownUntil: number;
  /** As GET /v1/onsite lists it. */
  json: string;
}

/** Interactions with a campaign that has ended still arrive from open pages, ms. */
const KNOWN_AFTER_END_MS = 86_400_000;

interface OwnCampaigns {
  byId: Map<number, LiveCampaign>;
  /** Undefined after a change. */
  byPage: CampaignsByPage<LiveCampaign> | undefined;
}

/** The live campaigns of all accounts. */
export class OnsiteCatalogue {
  readonly #byAccount = new Map<number, OwnCampaigns>();

  /** Those of an account for a page, in the order of their ids; some have ended. */
  ofPage(accountId: number, url: string): readonly LiveCampaign[] {
    const own = this.#byAccount.get(accountId);
    if (!own) return [];
    own.byPage ??= new CampaignsByPage(own.byId.values());
    return own.byPage.of(url);
  }

  get isEmpty(): boolean {
    return this.#byAccount.size === 0;
  }

  find(accountId: number, id: number): LiveCampaign | undefined {
    return this.#byAccount.get(accountId)?.byId.get(id);
  }

  /** Adds or replaces a campaign. Throws for a definition that is none. */
  set(stored: StoredCampaign, memberships: Memberships): void {
    const { accountId, id } = stored;
    const campaign = liveCampaign(stored, memberships);
    const own = this.#byAccount.get(accountId) ?? { byId: new Map(), byPage: undefined };
    own.byId.set(id, campaign);
    own.byPage = undefined;
    this.#byAccount.set(accountId, own);
  }

  /** Forgets campaigns that ended or were disabled a day ago. True: there was one. */
  expire(now: number): boolean {
    let isChanged = false;
    for (const [accountId, own] of this.#byAccount) {
      for (const [id, { knownUntil }] of own.byId) {
        if (now < knownUntil) continue;
        own.byId.delete(id);
        own.byPage = undefined;
        isChanged = true;
      }
      if (own.byId.size === 0) this.#byAccount.delete(accountId);
    }
    return isChanged;
  }

  /** The audiences that a campaign has. */
  audiences(): Set<AudienceId> {
    const found = new Set<AudienceId>();
    for (const { byId } of this.#byAccount.values())
      for (const { audienceId: id } of byId.values()) if (id !== undefined) found.add(id);
    return found;
  }
}

function liveCampaign(stored: StoredCampaign, memberships: Memberships): LiveCampaign {
  const { id, definition, enabled, endsAt, updatedAt } = stored;
  const { kind, content, fields, url, frequency } = definition;
  const audience =
    stored.audience === undefined
      ? undefined
      : { accountId: stored.accountId, audience: stored.audience };
  const end = enabled ? endsAt : Math.min(endsAt, updatedAt);
  return {
    ...{ id, kind, frequency, fields, url, enabled },
    ...{ startsAt: stored.startsAt, endsAt },
    audience: audience && memberships.of(audience),
    audienceId: audience && audienceId(audience),
    knownUntil: end + KNOWN_AFTER_END_MS,
    json: JSON.stringify({
      ...{ id, kind, content },
      ...(fields.length > 0 ? { fields } : {}),
      frequency,
    }),
  };
}
