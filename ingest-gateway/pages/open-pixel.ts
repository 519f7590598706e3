import { openedBy, type OpenedBy } from '../../events/channels/opened-by.ts';
import type { TrackedMessage } from '../../events/channels/tracking-token.ts';
import type { TrackedRequest, TrackedRoute } from '../tracking/tracked-server.ts';
import {
  NO_CONTENT,
  NOT_FOUND,
  UNAVAILABLE_TEXT,
  type TextAnswer,
} from '../tracking/text-answer.ts';

/** An open of a message, as the request for its pixel shows it. */
export interface Open extends TrackedMessage {
  by: OpenedBy;
  /** By a mail provider's proxy or a bot, and perhaps by nobody. */
  isProxy: boolean;
  ip: string;
  userAgent: string;
  /** ms since the epoch */
  receivedAt: number;
  trace: string;
}

/** Called once the image is written: nobody waits for it, so it must bound what it keeps. */
export type RecordOpen = (open: Open) => void;

/** A transparent image of one pixel: 43 bytes. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64');

const PIXEL: TextAnswer = { status: 200, type: 'image/gif', body: GIF, headers: NO_CONTENT };

/**
 * GET /e/o/{token}: the image is sent whatever happens to the open, which a mail program would not
 * ask for again. Bots and proxies are flagged, not dropped. A HEAD loads no image: it is no open.
 */
export function openPixelRoute(recordOpen: RecordOpen): TrackedRoute {
  return {
    ...{ method: 'GET', path: '/e/o/:token', purpose: 'open', unavailable: UNAVAILABLE_TEXT },
    answer: (opened) => {
      const { tracked, request } = opened;
      if (!tracked) return NOT_FOUND;
      if (request.method !== 'GET') return PIXEL;
      return { ...PIXEL, afterwards: () => recordOpen(openOf(tracked, opened)) };
    },
  };
}

function openOf(
  tracked: TrackedMessage,
  { request: { headers }, ip, userAgent, receivedAt, trace }: TrackedRequest,
): Open {
  const purpose = ['sec-purpose', 'purpose', 'x-moz'].map((name) => headers[name] ?? '').join(' ');
  const by = openedBy({ userAgent, purpose });
  return { ...tracked, by, isProxy: by !== 'person', ip, userAgent, receivedAt, trace };
}
