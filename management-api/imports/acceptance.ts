/** Names the acceptances of this process: its random id, and a running number an event. */
export interface Acceptance {
  readonly gateway: string;
  /** Reserves numbers for so many events and answers the first. */
  take(count: number): number;
}

export function startAcceptance(gateway: string): Acceptance {
  let next = 0;
  return {
    gateway,
    take(count) {
      const first = next;
      next += count;
      return first;
    },
  };
}
