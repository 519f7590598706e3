let last = 0;

/** ms since the epoch, greater than every earlier answer: events of a page keep their order. */
export const nextTime = (): number => (last = Math.max(Date.now(), last + 1));

/** A UUID of version 7: its order is that of the times. */
export const idAt = (time: number): string =>
  time.toString(16).padStart(12, '0').replace(/.{8}/, '$&-') +
  '-7rrr-8rrr-rrrrrrrrrrrr'.replace(/r/g, () =>
    ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & 15).toString(16),
  );
