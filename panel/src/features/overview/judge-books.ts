import type { Books } from './queries.ts';

/**
 * What the books say: `balanced`: every published event is stored or still on its way;
 * `unstored`: some are in dead letters or were lost; `unbalanced`: more is stored than published.
 */
export type Verdict = 'empty' | 'balanced' | 'unstored' | 'unbalanced';

export function judgeBooks({ received, dead, lost, in_flight }: Books): Verdict {
  if (received === 0) return 'empty';
  if (in_flight < 0) return 'unbalanced';
  return dead > 0 || lost > 0 ? 'unstored' : 'balanced';
}
