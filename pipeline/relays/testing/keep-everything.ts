import type { DeliveryLog } from '../delivery-log.ts';

/** A delivery log without bounds. */
export const KEEP_EVERYTHING: Pick<DeliveryLog, 'refresh' | 'ofStream' | 'keeps'> = {
  refresh: () => Promise.resolve(),
  ofStream: (result) => result,
  keeps: () => true,
};
