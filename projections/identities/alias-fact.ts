import type { WriteOrder } from '../../events/write-order.ts';
import { compareWriteOrder } from '../../events/write-order.ts';

/**
 * An alias that may join something: `previousId` into `userId`. `at` orders the facts of an account
 * and names the fact within it.
 */
export interface AliasFact {
  previousId: string;
  userId: string;
  at: WriteOrder;
}

/** The order in which aliases are considered (reports.md, "People"). */
export function compareFacts(a: AliasFact, b: AliasFact): number {
  return compareWriteOrder(a.at, b.at);
}

/** The fact's place as a key of maps and sets. */
export function factKey({ at }: AliasFact): string {
  return `${at.epoch}/${at.partition}/${at.offset}/${at.index}`;
}

/**
 * What became of an alias: it joined its names; they were one person already; its previous_id
 * belongs to somebody else; an operator took it back.
 */
export type AliasOutcome = 'joined' | 'same' | 'refused' | 'undone';
