import type { FastifyInstance } from 'fastify';
import { buildHost, type HostOptions } from './http/server.ts';
import { servedRoutes } from './routes.ts';

/** The management host over its services; it listens nowhere yet. */
export function buildApp(options: Omit<HostOptions, 'routes'>): FastifyInstance {
  return buildHost({ ...options, routes: servedRoutes(options.services.features) });
}
