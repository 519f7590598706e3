import type { LogLayout } from '../../../platform/log/layout.ts';
import type { Behind } from '../grow/plan.ts';
import { openGroups, openWriters } from '../grow/plan.ts';
import type { Writer } from '../../../platform/log/writers.ts';

/** What a step of a rewrite is decided by. */
export interface RewriteView {
  layout: LogLayout;
  writers: readonly (Writer & { age: number })[];
  behind: readonly Behind[];
  /** The new topic exists. */
  isCreated: boolean;
  /** Records that are not copied yet. */
  left: number;
}

/** Fewer records than these are copied while writers hold. */
const CAUGHT_UP_RECORDS = 2000;

/**
 * The next step of a rewrite. Every step may be repeated: a command that was killed is continued by
 * the next one. Until the fence nothing has changed for anybody. The fence: the broker acknowledges
 * no write to the former topic any more, so nothing is lost that a suspended process sends late.
 */
export type RewriteStep =
  | { step: 'begin' | 'create' | 'copy' | 'hold' | 'fence' | 'switch' }
  | { step: 'wait'; for: readonly string[] };

export function nextStep(view: RewriteView): RewriteStep {
  const { layout, isCreated, left } = view;
  switch (layout.phase) {
    case 'steady':
      return { step: 'begin' };
    case 'preparing':
      if (!isCreated) return { step: 'create' };
      return { step: left > CAUGHT_UP_RECORDS ? 'copy' : 'hold' };
    case 'holding': {
      const missing = [...openWriters(view), ...openGroups(view)];
      if (missing.length > 0) return { step: 'wait', for: missing };
      return { step: left > 0 ? 'copy' : 'fence' };
    }
    case 'switching':
    case 'draining':
      return { step: left > 0 ? 'copy' : 'switch' };
  }
}
