import { count } from './books.ts';
import { idAt, nextTime } from './clock.ts';
import type { Entries, Entry, LoadEntry } from './entry.ts';
import {
  anonymousId,
  become,
  choose,
  consentNow,
  forget,
  maySend,
  openIdentity,
  userId,
} from './identity.ts';
import { fail, on } from './listeners.ts';
import { watchAddress, whenShown } from './page.ts';
import { push, waiting } from './queue.ts';
import { flush, flushIn, LIBRARY, openSender, sent } from './sender.ts';
import { parameter, sessionAt } from './session.ts';
import { get, keys, openStorage, remove, set } from './storage.ts';
import { CLICKED } from './storage-keys.ts';
import type { CallOptions, Client, LoadOptions, Properties } from './types.ts';

/** The fields of an event; `user_id` where the call says who the person is. */
type Fields = Properties & { user_id?: string };

/** The SDK of one write key. */
export function openClient(writeKey: string, options: LoadOptions, loadEntry: LoadEntry): Client {
  const { flushAt = 20, flushInterval = 5000, persistence, onsite, webPush } = options;
  const host = (options.host ?? '').replace(/\/$/, '');
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let referrer = document.referrer;
  let made = 0;
  let campaigns: Promise<() => void> | undefined;

  /** Stores one event. Whatever is wrong with it, the page goes on. */
  const make = (type: string, fields: Fields, more: CallOptions = {}): string => {
    const time = nextTime();
    const call = idAt(time);
    const id = more.message_id ?? call;
    if (consentNow() === 'denied') return id;
    if (type === 'page') showCampaigns();
    if (fields.user_id) become(fields.user_id);
    const { id: session_id, campaign } = sessionAt(time);
    const { context } = more;
    try {
      const isStored = push(call, id, {
        type,
        message_id: id,
        timestamp: new Date(more.timestamp ?? time),
        ...fields,
        user_id: userId(),
        anonymous_id: anonymousId(),
        context: {
          library: LIBRARY,
          locale: navigator.language,
          timezone,
          session_id,
          page: {
            url: location.href,
            path: location.pathname,
            title: document.title,
            referrer,
          },
          ...context,
          campaign: { ...campaign, ...(context?.['campaign'] as object) },
        },
      });
      if (!isStored && persistence !== 'memory') fail(new Error('storage refuses events'));
    } catch (error) {
      count({ made: 1, invalid: 1 });
      fail(error);
    }
    if (++made % flushAt) flushIn(flushInterval);
    else void flush();
    return id;
  };
  const named =
    (type: string) =>
    (event?: string, properties?: Properties, more?: CallOptions): string =>
      make(type, { event, properties }, more);

  const entry: Entry = {
    host,
    writeKey,
    get,
    set,
    remove,
    keys,
    anonymousId,
    userId,
    maySend,
    fail,
  };
  const use = async <K extends keyof Entries>(name: K, given: Entries[K][0]) =>
    (await loadEntry(name, host)).open(entry, given);
  const showCampaigns = () => {
    if (!onsite || !maySend()) return;
    (campaigns ??= use('onsite', onsite)).then((show) => show(), fail);
  };

  const client: Client = {
    track: named('track'),
    identify: (user_id, traits, more) => make('identify', { user_id, traits }, more),
    page: named('page'),
    screen: named('screen'),
    alias: (user_id, previous_id = userId() ?? anonymousId(), more) =>
      make('alias', { user_id, previous_id }, more),
    reset: forget,
    consent(state) {
      choose(state);
      void flush();
      showCampaigns();
    },
    async flush() {
      const before = sent;
      // One that runs already may have looked before the last call.
      await flush();
      await flush();
      return { sent: sent - before, pending: waiting().length };
    },
    anonymousId,
    userId,
    on,
    webPush: () => use('web-push', webPush),
    inbox: (proof) => use('inbox', proof),
  };

  openStorage(writeKey.slice(-12), persistence);
  const isRefused = options.respectDoNotTrack && navigator.doNotTrack === '1';
  openIdentity(isRefused ? 'denied' : (options.consent ?? 'granted'));
  // Before a second tab is there, which would make another one.
  anonymousId();
  openSender(host, writeKey);
  whenShown(() => {
    // A visit from a message is one event until another message's link is followed (ingest 6.1).
    const message_id = parameter('sg_mid');
    if (message_id && get(CLICKED) !== message_id && consentNow() !== 'denied') {
      set(CLICKED, message_id);
      client.track('message_clicked', {}, { context: { campaign: { message_id } } });
    }
    if (options.autoPage !== false)
      watchAddress((from) => {
        referrer = from;
        client.page();
      });
  });
  // What waits is of pages that are gone.
  flushIn(flushInterval);
  return client;
}
