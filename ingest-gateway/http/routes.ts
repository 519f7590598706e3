import type { EventType } from '../../schemas/records.ts';
import type { SdkRequest } from '../../ingest/request.ts';
import type { Answer } from './render.ts';

/** A route that accepts events; EventServer serves it. */
export interface EventRoute extends Pick<SdkRequest, 'shape' | 'type'> {
  method: 'POST';
  path: string;
  auth: 'write_key';
  cors: true;
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

/** Routes of the ingest host (ingest 4.2). Others: 405 under /v1/, 404 elsewhere. */
export function ingestRoutes(options: { version: string; now: () => Date }): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/status',
      auth: 'none',
      cors: false,
      handler: () => statusAnswer(options.version, options.now()),
    },
    ...SINGLE_TYPES.map((type) => eventRoute(`/v1/${type}`, { shape: 'single', type })),
    // Each item of a batch has its own type; this one is not used.
    eventRoute('/v1/batch', { shape: 'batch', type: 'track' }),
  ];
}

function eventRoute(path: string, kind: Pick<SdkRequest, 'shape' | 'type'>): EventRoute {
  return { method: 'POST', path, auth: 'write_key', cors: true, ...kind };
}

/** The routes that accept events, by path. */
export function eventRoutesByPath(routes: readonly Route[]): Map<string, EventRoute> {
  return new Map(
    routes.flatMap((route) => (route.auth === 'write_key' ? [[route.path, route] as const] : [])),
  );
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
