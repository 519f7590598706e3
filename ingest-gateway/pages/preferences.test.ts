import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHANNELS } from '../../events/channels/channel-change.ts';
import {
  FakePorts,
  MESSAGE,
  recipient,
  serveRoutes,
  tokens,
} from '../tracking/testing/serve-routes.ts';
import { CHANNEL_NAMES } from './channel-names.ts';
import { preferencesRoutes } from './preferences.ts';

const TOKEN = tokens.write('preferences', MESSAGE);

let ports: FakePorts;
let site: Awaited<ReturnType<typeof serveRoutes>>;

beforeEach(async () => {
  ports = new FakePorts();
  site = await serveRoutes(preferencesRoutes(ports));
});
afterEach(() => {
  expect(ports.budget.bytes).toBe(0);
  site.close();
});

async function open(init: RequestInit = {}, token = TOKEN) {
  const answer = await fetch(`${site.origin}/e/p/${token}`, init);
  const text = await answer.text();
  const boxes = [...text.matchAll(/name="on" value="(\w+)"( checked)?/g)];
  return {
    ...{ status: answer.status, text },
    boxes: boxes.map(([, channel, checked]) => `${channel}${checked === undefined ? '' : ' on'}`),
  };
}

/** Sends the form of a page, with these channels checked. */
function save(shown: readonly string[], checked: readonly string[]) {
  const fields: [string, string][] = [
    ...checked.map((channel): [string, string] => ['on', channel]),
    ...shown.map((entry): [string, string] => ['shown', entry]),
  ];
  return open({ method: 'POST', body: new URLSearchParams(fields) });
}

const SHOWN = ['email:subscribed', 'sms:unsubscribed'];

function recorded(): (string | undefined)[][] {
  return ports.recorded.map(({ change: { user_id, channel, consent } }) => [
    ...[user_id, channel, consent?.state, consent?.text_version],
  ]);
}

describe('the preference centre', () => {
  it('shows the channels of the account and their state, and changes nothing', async () => {
    const { status, text, boxes } = await open();
    expect([status, boxes]).toEqual([200, ['email on', 'sms']]);
    expect(text).toContain('<h1>تنظیمات دریافت پیام</h1>');
    expect(text).toContain('<input type="hidden" name="shown" value="sms:unsubscribed">');
    expect(ports.recorded).toEqual([]);
  });

  it('knows what the page before it has just done', async () => {
    const { text, boxes } = await open({}, `${TOKEN}?unsubscribed=email&unsubscribed=x`);
    expect(boxes).toEqual(['email', 'sms']);
    expect(text).toContain('value="email:unsubscribed"');
    expect(text).toContain('<form method="post" action="?">');
    await save(['email:unsubscribed', 'sms:unsubscribed'], ['email']);
    expect(recorded()).toEqual([['u-1', 'email', 'subscribed', 'preferences-fa-1']]);
  });

  it('names every channel', async () => {
    ports.found = recipient({ consents: new Map(CHANNELS.map((one) => [one, 'subscribed'])) });
    const { text, boxes } = await open();
    expect(boxes).toEqual(CHANNELS.map((channel) => `${channel} on`));
    for (const { name } of Object.values(CHANNEL_NAMES)) expect(text).toContain(`>${name}</label>`);
  });

  it('of an account without channels has no form', async () => {
    ports.found = recipient({ consents: new Map() });
    expect((await open()).text).not.toContain('<form');
  });
});

describe('a saved form', () => {
  it('changes what the person changed, and shows the new state', async () => {
    const { status, text, boxes } = await save(SHOWN, ['sms']);
    expect([status, boxes]).toEqual([200, ['email', 'sms on']]);
    expect(text).toContain('تنظیمات شما ذخیره شد');
    expect(recorded()).toEqual([
      ['u-1', 'email', 'unsubscribed', 'preferences-fa-1'],
      ['u-1', 'sms', 'subscribed', 'preferences-fa-1'],
    ]);
  });

  it('as multipart is the same', async () => {
    const body = new FormData();
    for (const entry of SHOWN) body.append('shown', entry);
    await open({ method: 'POST', body });
    expect(recorded()).toEqual([['u-1', 'email', 'unsubscribed', 'preferences-fa-1']]);
  });

  it('of a page from before an unsubscription does not subscribe again', async () => {
    ports.found = recipient({ consents: new Map([['email', 'unsubscribed']]) });
    const { boxes } = await save(['email:subscribed'], ['email']);
    expect([boxes, recorded()]).toEqual([['email'], []]);
  });

  it('ignores channels that the account does not have', async () => {
    await save([...SHOWN, 'rubika:unsubscribed', 'fax:subscribed'], ['email', 'rubika', 'fax']);
    expect(recorded()).toEqual([]);
  });

  it.each([
    '',
    `${'a&'.repeat(200)}shown=sms:subscribed`,
    'on=email',
    'shown=email',
    'shown=email:maybe',
    '{}',
  ])('that is not one of ours changes nothing: %s', async (body) => {
    const { status, text } = await open({ method: 'POST', body });
    expect(status).toBe(400);
    expect(text).toContain('چیزی تغییر نکرد');
    expect(ports.recorded).toEqual([]);
  });

  it('with thousands of fields is not parsed', async () => {
    const body = `${'a&'.repeat(2000)}shown=email:subscribed`;
    expect((await open({ method: 'POST', body })).status).toBe(400);
    expect(ports.recorded).toEqual([]);
  });

  it('that is not durable as a whole is answered 503, with the choice kept for another try', async () => {
    ports.durable = 1;
    const { status, text, boxes } = await save(SHOWN, ['sms']);
    expect([status, boxes]).toEqual([503, ['email', 'sms on']]);
    expect(text).toContain('تنظیمات شما ذخیره نشد');
    expect(text).toContain('name="shown" value="email:subscribed"');
    ports.durable = Infinity;
    expect((await save(SHOWN, ['sms'])).status).toBe(200);
    expect(recorded().map(([, channel]) => channel)).toEqual(['email', 'email', 'sms']);
  });
});

it('a token of another purpose is a plain 404, and an unreachable store a 503', async () => {
  const other = await open({}, tokens.write('unsubscribe', MESSAGE));
  expect([other.status, other.text]).toEqual([404, 'not found\n']);
  ports.found = 'unreachable';
  expect((await open()).status).toBe(503);
  expect((await save(SHOWN, [])).status).toBe(503);
  expect(ports.recorded).toEqual([]);
});
