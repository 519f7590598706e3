/** A header of a record, as node-rdkafka takes and returns it: an object with one key. */
export type RecordHeader = Readonly<Record<string, string | Buffer>>;

const TRACEPARENT = 'traceparent';

/** Headers that name spans as the parents of what becomes of a record; a batch may have several. */
export function traceHeaders(traceparents: readonly string[]): RecordHeader[] {
  return traceparents.map((traceparent) => ({ [TRACEPARENT]: traceparent }));
}

/** The spans that the headers of a record name. */
export function traceparentsOf(headers: readonly RecordHeader[]): string[] {
  return headers.flatMap(({ [TRACEPARENT]: value }) =>
    value === undefined ? [] : [value.toString()],
  );
}
