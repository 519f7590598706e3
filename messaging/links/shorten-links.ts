import { linksToShorten, rewriteLinks } from '../../events/short-link-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { RenderedContent } from '../providers/provider.ts';
import { storeLinks } from './short-link-store.ts';

export interface ShortenerDeps {
  database: Pick<Database, 'query'>;
  /** SHORT_LINK_BASE; empty: links stay long. */
  base: string;
}

/** Links of one statement. */
const STATEMENT_LINKS = 1000;

/**
 * Shortens the links of SMS over an advertising line (ingest 4.7), after their mappings are stored;
 * the caller leaves out messages over a service line. Rejects when they cannot be stored.
 *
 * sg_mid makes every target one of its own, so each link of each message needs a code of 7 digits,
 * 35 bits, which all accounts share. When a code belongs to another target, the stored mapping
 * stays and the message keeps its long link: with 100 million stored links 3 in 1,000 do. So does a
 * message of an account that has 10 million (projections/retention/sweep-links.ts).
 */
export async function shortenLinks(
  { database, base }: ShortenerDeps,
  accountId: number,
  contents: readonly RenderedContent[],
): Promise<RenderedContent[]> {
  const line = 'advertising';
  const texts = contents.map(({ text }) => ({
    text,
    links: linksToShorten({ text, accountId, base, line }),
  }));
  const links = texts.flatMap((one) => one.links);
  const stored = new Set<string>();
  for (let at = 0; at < links.length; at += STATEMENT_LINKS) {
    const some = links.slice(at, at + STATEMENT_LINKS);
    const answers = await storeLinks(database, accountId, some);
    for (const [index, answer] of answers.entries())
      if (answer !== 'taken') stored.add(some[index]?.target ?? '');
  }
  return contents.map((content, at) => {
    const found = texts[at];
    if (!found) return content;
    const text = rewriteLinks({ ...found, isStored: ({ target }) => stored.has(target) });
    return { ...content, text };
  });
}
