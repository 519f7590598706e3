import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { unmapped } from '../../platform/network/address-ranges.ts';

/** Carries the panel's pass: random, made at the start of the process, known to nobody else. */
export const PANEL_HEADER = 'x-panel-pass';
/** The client's address, as the panel saw it. */
export const FORWARDED_FOR_HEADER = 'x-panel-client';

/**
 * The client's address of a request to the control plane: the one that the panel tells, or that of
 * the connection when somebody else asks.
 */
export function clientBehindPanel(message: IncomingMessage, pass: string): string {
  const shown = Buffer.from(single(message.headers[PANEL_HEADER]));
  const wanted = Buffer.from(pass);
  const isPanel = shown.length === wanted.length && timingSafeEqual(shown, wanted);
  return isPanel
    ? single(message.headers[FORWARDED_FOR_HEADER])
    : unmapped(message.socket.remoteAddress ?? '');
}

function single(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
