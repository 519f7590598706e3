import { newerRelease } from '../../schemas/codec.ts';
import type { IdentityCommand } from '../../schemas/records.ts';
import type { AliasFact } from './alias-fact.ts';

/**
 * What an operator decided about aliases, at `decidedAt`. undo: aliases of `previousId` received up
 * to `until` merge nothing. keep_apart: aliases between the two ids, in either direction, merge
 * nothing, whenever they are received. rejoin: they count again. Times in ms since the epoch.
 */
export type Decision =
  | { kind: 'undo'; previousId: string; until: number; decidedAt: number }
  | { kind: 'keep_apart' | 'rejoin'; previousId: string; userId: string; decidedAt: number };

export type PairDecision = Exclude<Decision, { kind: 'undo' }>;

/** Decisions of one account. The order in which they are added does not matter. */
export interface Decisions {
  /** By previous_id: all its undos together. */
  undos: Map<string, { until: number; decidedAt: number }>;
  /** By pairKey: the latest decision about the pair. */
  pairs: Map<string, { isApart: boolean; decidedAt: number }>;
}

export function noDecisions(): Decisions {
  return { undos: new Map(), pairs: new Map() };
}

/** Two ids in an order that depends on neither's role. */
export function pairOf({ previousId, userId }: Pick<AliasFact, 'previousId' | 'userId'>): {
  name: string;
  other: string;
} {
  return previousId < userId
    ? { name: previousId, other: userId }
    : { name: userId, other: previousId };
}

export function pairKey({ name, other }: { name: string; other: string }): string {
  return `${name.length}:${name}${other}`;
}

/** The decision of a command. Throws UnreadableRecord for one of a newer release. */
export function decisionOf(command: IdentityCommand, offset: number): Decision {
  const { previous_id: previousId, user_id: userId, until, requested_at: decidedAt } = command;
  switch (command.command) {
    case 'undo':
      return { kind: 'undo', previousId, until, decidedAt };
    case 'keep_apart':
    case 'rejoin':
      return { kind: command.command, previousId, userId, decidedAt };
    default:
      throw newerRelease(`the command ${command.command} of offset ${offset}`);
  }
}

export function addDecision({ undos, pairs }: Decisions, decision: Decision): void {
  const { decidedAt } = decision;
  if (decision.kind === 'undo') {
    const { previousId, until } = decision;
    const known = undos.get(previousId);
    undos.set(previousId, {
      until: Math.max(until, known?.until ?? -1),
      decidedAt: Math.max(decidedAt, known?.decidedAt ?? -1),
    });
    return;
  }
  const key = pairKey(pairOf(decision));
  const isApart = decision.kind === 'keep_apart';
  const known = pairs.get(key);
  if (!known || comesLater({ isApart, decidedAt }, known)) pairs.set(key, { isApart, decidedAt });
}

/** Of two decisions of one millisecond the one that keeps apart counts. */
function comesLater(
  a: { isApart: boolean; decidedAt: number },
  b: { isApart: boolean; decidedAt: number },
): boolean {
  return a.decidedAt > b.decidedAt || (a.decidedAt === b.decidedAt && a.isApart);
}

/** Why an alias merges nothing: the latest decision about it; undefined: it counts. */
export function whyIgnored(
  fact: AliasFact,
  { undos, pairs }: Decisions,
): 'undone' | 'kept_apart' | undefined {
  const undo = undos.get(fact.previousId);
  const isUndone = undo !== undefined && fact.order.receivedAt <= undo.until;
  const pair = pairs.get(pairKey(pairOf(fact)));
  if (pair && (!isUndone || pair.decidedAt > undo.decidedAt))
    return pair.isApart ? 'kept_apart' : undefined;
  return isUndone ? 'undone' : undefined;
}
