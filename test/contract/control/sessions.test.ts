import { beforeAll, describe, expect, it } from 'vitest';
import { admin, readyStack } from '../../support/stack.ts';
import {
  call,
  control,
  enter,
  makeAccount,
  makeMember,
  sessionIn,
  signIn,
  type Member,
} from './panel.ts';

let account: string;
let member: Member;
beforeAll(async () => {
  account = await makeAccount();
  member = await makeMember(account, 'owner');
});

const statusOf = async (session: string) =>
  (await control('GET', '/v1/relays', { session })).status;

describe('signing in and out', () => {
  it('sets a cookie that scripts cannot read, and answers who is signed in', async () => {
    const reply = await signIn({ ...member, email: ` ${member.email.toUpperCase()} ` });
    expect(reply.status).toBe(200);
    expect(reply.headers['set-cookie']).toEqual([
      `service_session=${sessionIn(reply)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200`,
      expect.stringMatching(
        /^service_device=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=7776000$/,
      ),
    ]);
    expect(reply.text).not.toContain(sessionIn(reply));
    const own = { id: Number(account), name: 'control' };
    expect(reply.body).toMatchObject({
      member: { id: member.id, email: member.email },
      account: own,
      role: 'owner',
      accounts: [{ ...own, role: 'owner' }],
    });
    expect((reply.body as { permissions: string[] }).permissions).toHaveLength(28);
    const session = sessionIn(reply);
    expect((await call('GET', '/api/session', { session })).body).toEqual(reply.body);
    expect((await control('GET', '/v1/integrations', { session })).body).toEqual({
      integrations: [],
    });
    const out = await call('DELETE', '/api/session', { session });
    expect([out.status, out.text, out.headers['set-cookie']]).toEqual([
      204,
      '',
      ['service_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'],
    ]);
    expect((await call('GET', '/api/session', { session })).status).toBe(401);
    expect(await statusOf(session)).toBe(401);
    expect((await call('DELETE', '/api/session', { session })).status).toBe(204);
  });

  it('creates another session each time, and ends the one that was sent', async () => {
    const before = sessionIn(await signIn(member));
    const beside = sessionIn(await signIn(member));
    const after = sessionIn(await signIn(member, { session: before }));
    expect(new Set([before, beside, after]).size).toBe(3);
    expect([await statusOf(before), await statusOf(beside), await statusOf(after)]).toEqual([
      401, 200, 200,
    ]);
  });

  it('works for the demo member of ready.json', async () => {
    const { demo } = readyStack();
    const reply = await signIn(demo.member);
    expect(reply.body).toMatchObject({ account: { id: demo.account_id }, role: 'owner' });
    const session = sessionIn(reply);
    const { integrations } = (await control('GET', '/v1/integrations', { session })).body as {
      integrations: { source: string }[];
    };
    expect(integrations.map(({ source }) => source).toSorted()).toEqual(
      Object.keys(demo.webhooks).toSorted(),
    );
    expect((await control('GET', '/v1/relays', { session })).body).toMatchObject({
      relays: [{ name: 'demo orders', enabled: false }],
    });
  });

  it('answers an unknown address like a wrong password', async () => {
    const wrong = await signIn({ ...member, password: 'wrong' });
    const nobody = await signIn({ email: `nobody-${member.email}`, password: 'wrong' });
    expect([wrong.status, wrong.body]).toEqual([
      401,
      { error: 'the e-mail address or the password is wrong', code: 'wrong_credentials' },
    ]);
    expect([nobody.status, nobody.body]).toEqual([wrong.status, wrong.body]);
    expect([wrong.headers['set-cookie'], nobody.headers['set-cookie']]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it.each([
    ['{', 'malformed_json'],
    ['', 'malformed_json'],
    ['null', 'invalid_request'],
    ['{"email":"a@b.example"}', 'invalid_request'],
    ['{"email":"a","password":"x"}', 'invalid_request'],
    ['{"email":["a@b.example"],"password":"x"}', 'invalid_request'],
    [`{"email":"a@b.example","password":"${'x'.repeat(1025)}"}`, 'invalid_request'],
    ['{"email":"a@b.example","password":"x","account_id":"1"}', 'invalid_request'],
  ])('rejects %s', async (body, code) => {
    const reply = await call('POST', '/api/session', { body });
    expect([reply.status, (reply.body as { code: string }).code]).toEqual([400, code]);
  });

  it('does not read a body above 8 KiB', async () => {
    expect((await call('POST', '/api/session', { body: `{}${' '.repeat(9000)}` })).status).toBe(
      413,
    );
  });
});

describe('a change by the operator applies to the next request', () => {
  it('when the role changes', async () => {
    const one = await makeMember(account, 'owner');
    const session = sessionIn(await signIn(one));
    await admin(
      'member',
      'set-role',
      '--account',
      account,
      '--email',
      one.email,
      '--role',
      'viewer',
    );
    expect(await statusOf(session)).toBe(401);
    expect(await statusOf(sessionIn(await signIn(one)))).toBe(403);
  });

  it('when the password changes', async () => {
    const one = await makeMember(account, 'owner');
    const session = sessionIn(await signIn(one));
    const { password } = await admin<{ password: string }>(
      'member',
      'set-password',
      '--email',
      one.email,
    );
    expect(password).toMatch(/^[A-Za-z0-9]{24}$/);
    expect(await statusOf(session)).toBe(401);
    expect((await signIn(one)).status).toBe(401);
    expect((await signIn({ ...one, password })).status).toBe(200);
  });

  it('when the membership ends', async () => {
    const other = await makeAccount();
    const one = await makeMember(account, 'owner');
    const added = await admin<object>(
      'member',
      'create',
      '--account',
      other,
      '--email',
      one.email,
      '--role',
      'admin',
    );
    expect(added).not.toHaveProperty('password');
    const session = sessionIn(await signIn(one, { body: { ...one, account_id: Number(other) } }));
    expect((await call('GET', '/api/session', { session })).body).toMatchObject({
      role: 'admin',
      account: { id: Number(other) },
    });
    await admin('member', 'remove', '--account', other, '--email', one.email);
    expect(await statusOf(session)).toBe(401);
    expect((await signIn(one, { body: { ...one, account_id: Number(other) } })).status).toBe(403);
    expect((await signIn(one)).body).toMatchObject({ account: { id: Number(account) } });
    expect(
      await admin('member', 'remove', '--account', account, '--email', one.email),
    ).toMatchObject({ forgotten: true });
    expect((await signIn(one)).status).toBe(401);
  });

  it('when the account is suspended or limits its addresses', async () => {
    const other = await makeAccount();
    const one = await makeMember(other, 'owner');
    const session = sessionIn(await signIn(one));
    await admin('account', 'set', '--account', other, 'ip_allow=192.0.2.0/24');
    const refusal = await control('GET', '/v1/relays', { session });
    expect([refusal.status, (refusal.body as { code: string }).code]).toEqual([
      403,
      'ip_not_allowed',
    ]);
    expect((await signIn(one)).status).toBe(403);
    await admin('account', 'set', '--account', other, 'ip_allow=127.0.0.0/8,::1');
    expect(await statusOf(session)).toBe(200);
    await admin('account', 'set', '--account', other, 'status=suspended');
    expect(await statusOf(session)).toBe(401);
    expect((await signIn(one)).status).toBe(403);
  });
});

describe('guessed passwords', () => {
  it('cause growing pauses, which apply to the right password too', async () => {
    const target = await makeMember(account, 'viewer');
    const guess = () => signIn({ ...target, password: 'guess' });
    const replies = [];
    for (let time = 0; time < 7; time++) replies.push(await guess());
    const refused = replies.find(({ status }) => status === 429);
    expect(replies.slice(0, 5).map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect(refused?.body).toEqual({
      error: 'too many failed sign-ins; wait and try again',
      code: 'too_many_guesses',
    });
    let wait = Number(refused?.headers['retry-after']);
    expect(wait).toBeGreaterThan(0);
    // Others are not slowed down by it.
    expect((await signIn(member)).status).toBe(200);
    let right = await signIn(target);
    for (let time = 0; time < 3 && right.status === 429; time++) {
      wait = Number(right.headers['retry-after']);
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      right = await signIn(target);
    }
    expect(right.status).toBe(200);
    // And it is forgotten with the right password.
    expect((await guess()).status).toBe(401);
    expect((await signIn(target)).status).toBe(200);
  });

  it('are counted before they are checked when many arrive at once', async () => {
    const target = await makeMember(account, 'viewer');
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => signIn({ ...target, password: 'guess' })),
    );
    expect(replies.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(6);
    expect(replies.every(({ status }) => status === 401 || status === 429)).toBe(true);
  });
});

describe('other sites', () => {
  const evil = {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
    'content-type': 'application/json',
  };

  it('cannot sign anybody in or out, or change anything', async () => {
    const session = await enter(account);
    const relay = {
      name: 'evil',
      url: 'https://evil.example',
      events: [],
      filters: [],
      enabled: true,
    };
    for (const headers of [
      evil,
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'null' },
    ]) {
      const replies = [
        await signIn(member, { headers }),
        await call('DELETE', '/api/session', { session, headers }),
        await control('PUT', '/v1/relays', { session, headers, body: relay }),
        await control('DELETE', '/v1/relays/1', { session, headers }),
      ];
      for (const reply of replies)
        expect([reply.status, (reply.body as { code: string }).code]).toEqual([403, 'cross_site']);
    }
    expect((await control('GET', '/v1/relays', { session })).body).toEqual({ relays: [] });
  });

  it('cannot send a form, because its types are not JSON', async () => {
    const origin = readyStack().panel_url;
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const reply = await signIn(member, { headers: { origin, 'content-type': type } });
      expect([reply.status, (reply.body as { code: string }).code]).toEqual([
        415,
        'unsupported_media_type',
      ]);
    }
  });

  it('are distinguished from the panel itself, which can', async () => {
    const headers = {
      origin: readyStack().panel_url,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
    };
    const session = sessionIn(await signIn(member, { headers }));
    const relay = {
      name: 'own',
      url: 'https://x.example',
      events: [],
      filters: [],
      enabled: false,
    };
    expect((await control('PUT', '/v1/relays', { session, headers, body: relay })).status).toBe(
      200,
    );
    expect((await call('DELETE', '/api/session', { session, headers })).status).toBe(204);
  });

  it('get no header that allows them to read', async () => {
    const reply = await call('GET', '/api/session', {
      session: await enter(account),
      headers: { origin: 'https://evil.example' },
    });
    expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    );
  });
});
