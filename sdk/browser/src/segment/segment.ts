import type { CallOptions, Properties, Ravand } from '../types.ts';

type Callback = () => void;
/** Of a call of analytics.js; `integrations` means nothing here. */
interface SegmentOptions {
  timestamp?: Date | number | string;
  messageId?: string;
  context?: Properties;
  integrations?: Properties;
}

/**
 * The calls of Segment's analytics.js, made with Ravand: arguments may be left out as there. What
 * is different is in docs/sdk-from-segment.md.
 */
export function segmentAnalytics(ravand: Ravand) {
  const analytics = {
    track(event: string, ...rest: unknown[]) {
      const [properties, options, callback] = objectsOf(rest, 2);
      ravand.track(event, properties, callOptions(options));
      callback();
    },
    identify(...given: unknown[]) {
      const [[userId], rest] = leading(given, 1);
      const [traits, options, callback] = objectsOf(rest, 2);
      // Without a user the traits are of whoever is there.
      ravand.identify(userId ?? '', traits, callOptions(options));
      callback();
    },
    page(...given: unknown[]) {
      named('page', given);
    },
    screen(...given: unknown[]) {
      named('screen', given);
    },
    alias(userId: string, ...rest: unknown[]) {
      const [[previousId], more] = leading(rest, 1);
      const [options, , callback] = objectsOf(more, 1);
      ravand.alias(userId, previousId, callOptions(options));
      callback();
    },
    /** Ravand has no groups: the call does nothing but its callback. */
    group(...given: unknown[]) {
      objectsOf(given, 2)[2]();
    },
    reset: () => ravand.reset(),
    ready: (callback: Callback) => queueMicrotask(callback),
    user: () => ({
      id: () => ravand.userId() ?? null,
      anonymousId: () => ravand.anonymousId(),
    }),
  };

  /** ([category], [name], [properties], [options], [callback]): a single text is the name. */
  function named(type: 'page' | 'screen', given: unknown[]) {
    const [texts, rest] = leading(given, 2);
    const [properties, options, callback] = objectsOf(rest, 2);
    const [category, name] = texts.length > 1 ? texts : [undefined, texts[0]];
    ravand[type](name, { ...(category && { category }), ...properties }, callOptions(options));
    callback();
  }
  return analytics;
}

/** The texts at the beginning, and the rest. */
function leading(given: unknown[], max: number): [texts: (string | undefined)[], rest: unknown[]] {
  let count = 0;
  while (count < max && (typeof given[count] === 'string' || given[count] === null)) count++;
  const texts = given.slice(0, count).map((text) => (text as string | null) ?? undefined);
  return [texts, given.slice(count)];
}

/** At most `max` objects, and then a callback, which may stand where an object is missing. */
function objectsOf(
  given: unknown[],
  max: number,
): [Properties | undefined, Properties | undefined, Callback] {
  const callback = given.find((one) => typeof one === 'function') as Callback | undefined;
  const [first, second] = given
    .slice(0, max)
    .map((one) => (typeof one === 'object' && one !== null ? (one as Properties) : undefined));
  return [first, second, callback ?? (() => {})];
}

function callOptions(given: SegmentOptions | undefined): CallOptions {
  const { timestamp, messageId, context } = given ?? {};
  return {
    ...(timestamp !== undefined && { timestamp }),
    ...(messageId !== undefined && { message_id: messageId }),
    ...(context && { context }),
  };
}
