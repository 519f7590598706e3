import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { unmapped } from '../../platform/network/address-ranges.ts';

/** A random secret of this process, which proves that a request is from its panel. */
export const PANEL_HEADER = 'x-panel-pass';
/** The client's address, as the panel sees it. */
export const FORWARDED_FOR_HEADER = 'x-panel-client';

/**
 * The client's address of a request to the control plane: the one that the panel reports, or the
 * address of the connection for any other client.
 */
export function clientBehindPanel(message: IncomingMessage, panelSecret: string): string {
  const sent = Buffer.from(single(message.headers[PANEL_HEADER]));
  const expected = Buffer.from(panelSecret);
  const isPanel = sent.length === expected.length && timingSafeEqual(sent, expected);
  return isPanel
    ? single(message.headers[FORWARDED_FOR_HEADER])
    : unmapped(message.socket.remoteAddress ?? '');
}

function single(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
