import type { UrlCondition } from '../../events/channels/onsite/definition.ts';
import { UrlIndex } from './url-index.ts';

interface Paged {
  id: number;
  url: readonly UrlCondition[];
}

/** The campaigns of an account, by the pages that they are for. */
export class CampaignsByPage<Campaign extends Paged> {
  readonly #everywhere: readonly Campaign[];
  readonly #byUrl: UrlIndex<Campaign>;

  constructor(campaigns: Iterable<Campaign>) {
    const sorted = [...campaigns].sort(byId);
    this.#everywhere = sorted.filter(({ url }) => url.length === 0);
    this.#byUrl = new UrlIndex(sorted, ({ url }) => url);
  }

  /** Those for a page, in the order of their ids. */
  of(url: string): readonly Campaign[] {
    const found = this.#byUrl.matching(url);
    return found.size === 0 ? this.#everywhere : [...this.#everywhere, ...found].sort(byId);
  }
}

function byId(a: Paged, b: Paged): number {
  return a.id - b.id;
}
