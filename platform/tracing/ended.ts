import type { Span } from './spans.ts';

/** Ends the spans of a piece of work with it; with an error when it rejects. */
export async function ended<T>(begun: readonly Span[], work: () => Promise<T>): Promise<T> {
  let problem: string | undefined = 'it was interrupted';
  try {
    const result = await work();
    problem = undefined;
    return result;
  } finally {
    for (const span of begun) span.end({}, problem);
  }
}
