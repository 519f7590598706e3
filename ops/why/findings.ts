import type { Stage } from './explain.ts';

/** What one stage says. */
export type Finding = Omit<Stage, 'name'>;

export const done = (message: string): Finding => ({ state: 'done', message });
export const waiting = (message: string): Finding => ({ state: 'waiting', message });
export const ended = (message: string): Finding => ({ state: 'ended', message });
export const absent = (message: string): Finding => ({ state: 'absent', message });
export const unknown = (message: string): Finding => ({ state: 'unknown', message });

export function unavailable(fact: { why: string }): Finding {
  return { state: 'unavailable', message: `unavailable: ${fact.why}` };
}
