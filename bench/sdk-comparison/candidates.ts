import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** An event as a host gets it: the number that the page gave it, and its id for deduplication. */
export interface Arrived {
  id: string;
  number: number;
}

export interface Candidate {
  name: string;
  /** Of npm; undefined: this checkout. */
  package?: string;
  /**
   * A module that sets `ready` and `make(tab, first, count)`; `API` is the host. As each SDK is by
   * default, with calls alone: no page views, recordings or flags.
   */
  code: string;
  /** What a GET gets; undefined: 404. */
  settings: (path: string) => object | undefined;
  /** The events in a POST. */
  eventsOf: (body: Buffer) => Arrived[];
}

type Json = Record<string, unknown>;

const numberIn = (event: Json): number => Number((event['properties'] as Json)['number']);
const make = (call: string) => `globalThis.make = (tab, first, count) => {
  for (let number = first; number < first + count; number++) ${call}('torture', { number, tab });
};`;

/** PostHog's bodies: JSON, compressed or as a form. */
function decode(body: Buffer): unknown {
  if (body[0] === 0x1f && body[1] === 0x8b) return JSON.parse(gunzipSync(body).toString());
  const text = body.toString();
  if (!text.startsWith('data=')) return JSON.parse(text);
  return JSON.parse(
    Buffer.from(decodeURIComponent(text.slice('data='.length)), 'base64').toString(),
  );
}

export const CANDIDATES: readonly Candidate[] = [
  {
    name: 'Ravand',
    code: `import ravand from ${JSON.stringify(join(import.meta.dirname, '../../sdk/browser/src/index.ts'))};
      ravand.load('wk_svc_0123456789ab', { host: API, autoPage: false });
      globalThis.ready = Promise.resolve();
      ${make('ravand.track')}`,
    settings: () => undefined,
    eventsOf: (body) => {
      const { batch } = JSON.parse(body.toString()) as { batch: Json[] };
      return batch.map((event) => ({ id: String(event['message_id']), number: numberIn(event) }));
    },
  },
  {
    name: 'Segment',
    package: '@segment/analytics-next@1.84.3',
    code: `import { AnalyticsBrowser } from '@segment/analytics-next';
      const apiHost = API.replace('http://', '') + '/v1';
      const analytics = AnalyticsBrowser.load(
        { writeKey: 'key', cdnURL: API },
        { integrations: { 'Segment.io': { apiHost, protocol: 'http' } } },
      );
      globalThis.ready = analytics.ready();
      ${make('analytics.track')}`,
    settings: (path) =>
      path.endsWith('/settings')
        ? { integrations: { 'Segment.io': { apiKey: 'key' } }, plan: { track: {} } }
        : undefined,
    eventsOf: (body) => {
      const sent = JSON.parse(body.toString()) as Json & { batch?: Json[] };
      const events = (sent.batch ?? [sent]).filter(({ event }) => event === 'torture');
      return events.map((event) => ({ id: String(event['messageId']), number: numberIn(event) }));
    },
  },
  {
    name: 'PostHog',
    package: 'posthog-js@1.449.2',
    code: `import posthog from 'posthog-js';
      globalThis.ready = new Promise((loaded) => {
        posthog.init('phc_key', {
          ...{ api_host: API, loaded, autocapture: false, capture_pageview: false },
          ...{ capture_pageleave: false, disable_session_recording: true },
          ...{ advanced_disable_flags: true, disable_surveys: true },
          // Chromium without a window is a bot for it.
          opt_out_useragent_filter: true,
          rate_limiting: { events_per_second: 1000, events_burst_limit: 10000 },
        });
      });
      ${make('posthog.capture')}`,
    settings: () => ({}),
    eventsOf: (body) => {
      const sent = decode(body) as Json[] | (Json & { batch?: Json[] });
      const events = Array.isArray(sent) ? sent : (sent.batch ?? [sent]);
      return events
        .filter(({ event }) => event === 'torture')
        .map((event) => ({ id: String(event['uuid']), number: numberIn(event) }));
    },
  },
];
