/** One stage of a path. `unavailable`: the server that knows it did not answer. */
export interface Stage {
  name: string;
  state: 'done' | 'waiting' | 'ended' | 'absent' | 'unknown' | 'unavailable';
  message: string;
}

export interface Answer {
  /** One sentence for all of it. */
  verdict: string;
  stages: Stage[];
}

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
