import { compareWriteOrder, type WriteOrder } from '../../events/write-order.ts';

/**
 * An alias that may merge two distinct ids: `previousId` into `userId`. `order` identifies the fact
 * within its account and orders it among the others.
 */
export interface AliasFact {
  previousId: string;
  userId: string;
  order: WriteOrder;
}

/** The order in which aliases are applied (reports: People). */
export function compareFacts(a: AliasFact, b: AliasFact): number {
  return compareWriteOrder(a.order, b.order);
}

/** Log position of the fact as a key of maps and sets. */
export function factKey({ order }: Pick<AliasFact, 'order'>): string {
  return `${order.epoch}/${order.partition}/${order.offset}/${order.index}`;
}

/**
 * Outcome of an alias. joined: it merged two people. same: they were one person already. refused:
 * its previous_id belongs to another person. undone: an operator undid it. kept_apart: an operator
 * keeps its two ids apart.
 */
export type AliasOutcome = 'joined' | 'same' | 'refused' | 'undone' | 'kept_apart';

/** A distinct id that some fact mentions: a node of the union-find forest. */
export interface IdentityRow {
  distinctId: string;
  /** The root of its tree: the id of the person. */
  canonicalId: string;
  /** The fact that linked it to its parent; undefined for a root. */
  parent: AliasFact | undefined;
}

/** Every distinct id that the facts mention. */
export function distinctIds(facts: readonly AliasFact[]): string[] {
  return facts.flatMap(({ previousId, userId }) => [previousId, userId]);
}
