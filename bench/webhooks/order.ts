import { deliveryText, order } from '../../test/support/webhooks/hosted-payloads.ts';

/** The order's id: requests replace it by an id of the same length. */
export const ORDER_ID = '100000000000000000';

/** The body of a delivery. */
export function signedOrder(): Buffer {
  return Buffer.from(deliveryText(order(new Date(), { id: ORDER_ID })));
}
