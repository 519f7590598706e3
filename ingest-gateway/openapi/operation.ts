import type { Schema } from '../../platform/http/openapi.ts';
import type { Answer } from '../http/render.ts';

/** A name in schemas.ts. */
type SchemaName = string;

/** The documentation of a route; each route of the host has a row in OPERATIONS. */
export interface Operation {
  summary: string;
  description?: string;
  /** `own`: the description says how the route authenticates. */
  auth: 'write_key' | 'none' | 'own';
  request?: SchemaName;
  /** A body that is not JSON, by media type. */
  accepts?: Readonly<Record<string, Schema>>;
  /** The answer on success; without a schema it has no JSON body. */
  done: {
    status: number;
    description: string;
    schema?: SchemaName;
    /** The media type of a body that is not JSON. */
    type?: string;
    headers?: Record<string, Schema>;
  };
  /** Refusals with the envelope of ingest 7.1. */
  refusals: readonly Answer[];
  /** Refusals of the route in a shape of its own, by status: one of these schemas. */
  shapes?: Readonly<Record<number, { description: string; schemas: readonly SchemaName[] }>>;
  /** Refusals that are plain text, by status. */
  plain?: Readonly<Record<number, string>>;
  /** Refusals that are pages for people, by status. */
  pages?: Readonly<Record<number, string>>;
  /** Parameters of the path, and of the query, by name. */
  path?: Readonly<Record<string, Schema>>;
  query?: Readonly<Record<string, Schema>>;
}
