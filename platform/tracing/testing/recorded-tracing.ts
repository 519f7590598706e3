import type { Span, Tracing } from '../spans.ts';

/** Traces that write down what begins and ends; `bad` is a traceparent that samples nothing. */
export function recordedTracing(): { lines: string[]; tracing: Tracing } {
  const lines: string[] = [];
  const span = (id: string): Span => {
    lines.push(`begin ${id}`);
    return {
      traceparent: id,
      child: (name) => span(`${id} > ${name}`),
      end: (attributes = {}, problem) => {
        const status = attributes['http.response.status_code'];
        const [how, why] = [status ? ` ${status}` : '', problem ? `: ${problem}` : ''];
        lines.push(`end ${id}${how}${why}`);
      },
    };
  };
  const continued = (traceparent: string, name: string) =>
    traceparent === 'bad' ? undefined : span(`${traceparent} ${name}`);
  return {
    lines,
    tracing: { request: (name, { traceparent = '' }) => continued(traceparent, name), continued },
  };
}
