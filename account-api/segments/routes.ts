import Type from 'typebox';
import { audienceSchema } from '../../audiences/schema.ts';
import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import {
  createSegment,
  getSegment,
  listSegments,
  removeSegment,
  replaceSegment,
  SegmentDraftBody,
} from './handlers.ts';

const segment = {
  auth: 'key',
  cost: 1,
  lock: false,
  features: ['segments'],
  timeout: TIMEOUT.most,
} as const;
const reading = {
  ...segment,
  method: 'GET',
  permission: 'segment.read',
  bodyLimit: undefined,
  coded: [],
} as const;
const writing = {
  ...segment,
  permission: 'segment.write',
  bodyLimit: BODY.query,
  flat: [],
} as const;

const Instant = Type.String({ format: 'date-time' });
const Segment = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    definition: audienceSchema,
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'Segment' },
);
const SegmentList = Type.Object({ segments: Type.Array(Segment) }, { $id: 'SegmentList' });

export const segmentRoutes: readonly Route[] = [
  {
    ...reading,
    path: '/v1/segments',
    summary: 'The 200 most recently updated segments',
    flat: ['segments_unavailable'],
    schemas: { response: SegmentList, status: 200 },
    handler: listSegments,
  },
  {
    ...reading,
    path: '/v1/segments/{id}',
    summary: 'One segment',
    flat: ['bad_id', 'not_found', 'segments_unavailable'],
    schemas: { response: Segment, status: 200 },
    handler: getSegment,
  },
  {
    ...writing,
    method: 'POST',
    path: '/v1/segments',
    summary: 'Create a segment; a repeated request makes another one',
    coded: ['malformed_json', 'name_required', 'filter_invalid', 'segment_unavailable'],
    schemas: { request: SegmentDraftBody, response: Segment, status: 201 },
    handler: createSegment,
  },
  {
    ...writing,
    method: 'PUT',
    path: '/v1/segments/{id}',
    summary: 'Replace a whole segment',
    coded: [
      'malformed_json',
      'bad_id',
      'name_required',
      'not_found',
      'filter_invalid',
      'segment_unavailable',
    ],
    schemas: { request: SegmentDraftBody, response: Segment, status: 200 },
    handler: replaceSegment,
  },
  {
    ...segment,
    method: 'DELETE',
    path: '/v1/segments/{id}',
    summary: 'Delete a segment',
    permission: 'segment.delete',
    bodyLimit: undefined,
    flat: [],
    coded: ['bad_id', 'segment_unavailable'],
    schemas: { response: undefined, status: 204 },
    handler: removeSegment,
  },
];
