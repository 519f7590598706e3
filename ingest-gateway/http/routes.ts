import type { EventType } from '../../schemas/records.ts';
import type { IngestService } from '../../ingest/accept.ts';
import type { SdkRequest } from '../../ingest/request.ts';
import { renderAcceptance, renderFailure, type Answer } from './render.ts';

export interface EventRoute extends Pick<SdkRequest, 'shape' | 'type'> {
  method: 'POST';
  path: string;
  auth: 'write_key';
  cors: true;
  /** Gets a request whose key is verified and whose body is read. */
  handler: (request: SdkRequest) => Promise<Answer>;
}

interface OpenRoute {
  method: 'GET';
  path: string;
  auth: 'none';
  cors: false;
  handler: () => Answer;
}

export type Route = EventRoute | OpenRoute;

const SINGLE_TYPES: readonly EventType[] = ['track', 'identify', 'page', 'screen', 'alias'];

/**
 * The routes of the ingest host (ingest 4.2). What is not here is 405 under /v1/, and 404
 * elsewhere.
 */
export function ingestRoutes(options: {
  acceptor: Pick<IngestService, 'accept'>;
  version: string;
  now: () => Date;
}): Route[] {
  const { acceptor } = options;
  const handler = (request: SdkRequest): Promise<Answer> =>
    acceptor
      .accept(request)
      .then((result) =>
        result.outcome === 'accepted'
          ? renderAcceptance(request.shape, result.summary)
          : renderFailure(result.failure),
      );
  const eventRoute = (path: string, kind: Pick<SdkRequest, 'shape' | 'type'>): EventRoute => ({
    ...{ method: 'POST', path, auth: 'write_key', cors: true },
    ...kind,
    handler,
  });
  return [
    {
      method: 'GET',
      path: '/v1/status',
      auth: 'none',
      cors: false,
      handler: () => statusAnswer(options.version, options.now()),
    },
    ...SINGLE_TYPES.map((type) => eventRoute(`/v1/${type}`, { shape: 'single', type })),
    // The type of a batch's items stands in each of them; this one is not looked at.
    eventRoute('/v1/batch', { shape: 'batch', type: 'track' }),
  ];
}

/** Ingest 2.7. */
function statusAnswer(version: string, now: Date): Answer {
  return {
    status: 200,
    body: JSON.stringify({ status: 'ok', service: 'collector', version }),
    headers: [
      'X-Server-Time',
      now.toISOString(),
      'Cache-Control',
      'no-store, no-cache, must-revalidate',
    ],
  };
}
