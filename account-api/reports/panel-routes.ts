import Type from 'typebox';
import type { ApiRequest } from '../http/request.ts';
import type { Route } from '../http/route.ts';
import type { Services } from '../services.ts';
import { parsePaths, PathsBody } from './paths/request.ts';
import { parsePeople } from './people/request.ts';
import { answerReport, answerSchema, Meta, reportRoute } from './routes.ts';
import { parseTrends, TrendsBody } from './trends/request.ts';

/** Reports that only the panel has: the management host's table is exhaustive (management 4.1). */
export const panelReportRoutes: readonly Route[] = [
  {
    ...reportRoute,
    path: '/v1/reports/trends',
    summary: 'Events, people, sums and averages over time',
    schemas: {
      request: TrendsBody,
      response: answerSchema({ series: Type.Array(Type.Unknown()) }, 'TrendsAnswer'),
      status: 200,
    },
    handler: (request: ApiRequest, services: Services) =>
      answerReport({
        request,
        services,
        parsed: parseTrends(request.body),
        selectors: ({ series }) => series,
        run: (query) => services.reports.trends(query),
      }),
  },
  {
    ...reportRoute,
    path: '/v1/reports/paths',
    summary: 'What people do after or before an event',
    schemas: {
      request: PathsBody,
      response: Type.Object({
        people: Type.Integer(),
        next: Type.Array(Type.Unknown()),
        meta: Meta,
      }),
      status: 200,
    },
    handler: (request: ApiRequest, services: Services) => {
      const read = parsePaths(request.body);
      return answerReport({
        request,
        services,
        parsed: read.ok ? { ok: true, request: { ...read.request, breakdown: undefined } } : read,
        selectors: ({ start }) => [start],
        run: (query) => services.reports.paths(query),
      });
    },
  },
  {
    ...reportRoute,
    path: '/v1/reports/people',
    permission: 'profile.read',
    summary: 'The people behind a number of a report',
    schemas: {
      request: Type.Object({}),
      response: Type.Object({ people: Type.Array(Type.Unknown()), meta: Meta }),
      status: 200,
    },
    handler: (request: ApiRequest, services: Services) => {
      const read = parsePeople(request.body);
      return answerReport({
        request,
        services,
        parsed: read.ok
          ? { ok: true, request: { asked: read.request, filters: [], breakdown: undefined } }
          : read,
        // the list itself reads profiles: it is as fresh as they are
        selectors: () => [
          { filters: [{ target: { kind: 'trait', name: '' }, test: { op: 'is_set' } }] },
        ],
        run: ({ request: { asked }, ...query }) =>
          services.reports.people({ ...query, request: asked }),
      });
    },
  },
];
