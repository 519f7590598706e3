/** A JSON Schema or another object of an OpenAPI document. */
export type Schema = Record<string, unknown>;

/** The header that every answer of a host carries. */
export const TRACE_HEADER: Schema = {
  'X-Service-Trace': { schema: { type: 'string', pattern: '^[0-9a-f]{8,64}$' } },
};
