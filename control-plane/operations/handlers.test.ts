import { describe, expect, it } from 'vitest';
import type { Operation } from '../../platform/operations/operation.ts';
import type { Wake } from '../../platform/operations/wake.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { listJobs, requestOperation } from './handlers.ts';

/** Asks as a member of account 7; what was asked of the operator. */
async function ask(body: unknown, { isOperator = false } = {}) {
  const asked: Operation[] = [];
  const woken: Wake[] = [];
  const account = { id: 7, name: 'a', role: 'owner', ipAllow: [], isOperator } as const;
  const request = { caller: { memberId: 5, email: 'a@x.example', account }, body };
  const services = {
    operations: {
      request: (_: unknown, operation: Operation) => Promise.resolve(asked.push(operation)),
    },
    wakeOperator: (what: Wake) => woken.push(what),
    jobs: { list: () => Promise.resolve([]) },
  };
  const given = [request as unknown as MemberRequest, services as unknown as Services] as const;
  return { answer: await requestOperation(...given), jobs: await listJobs(...given), asked, woken };
}

const rebuild = { kind: 'projection.rebuild', input: { projection: 'events', step: 'swap' } };
const erase = (user_id: string) => ({ kind: 'person.erase', input: { user_id, dry_run: false } });

describe('POST /v1/operations', () => {
  it('wakes the operator', async () => {
    const { answer, asked, woken } = await ask(erase('sara'));
    expect(answer).toMatchObject({ ok: true, status: 202 });
    expect(asked).toEqual([erase('sara')]);
    expect(woken).toEqual(['operations']);
  });

  it('refuses what concerns all accounts, and its jobs, to an owner who is no operator', async () => {
    const { answer, jobs, asked } = await ask(rebuild);
    expect(answer).toMatchObject({ ok: false, error: { code: 'forbidden', need: 'operator' } });
    expect(jobs).toMatchObject({ ok: false, error: { code: 'forbidden', need: 'operator' } });
    expect(asked).toEqual([]);
    const own = await ask(rebuild, { isOperator: true });
    expect(own.asked).toEqual([rebuild]);
    expect(own.jobs).toMatchObject({ ok: true });
  });

  it.each([
    ['a NUL, where an argument ends', erase('sara\0x')],
    ['half of a surrogate pair, which becomes another id', erase('sara\uD800')],
    [
      'an option in place of a group',
      { kind: 'dead_letters.redrive', input: { group: '--account=8', dry_run: true } },
    ],
    [
      'an account of its own',
      { kind: 'dead_letters.redrive', input: { group: 'ab12', dry_run: true, account_id: 8 } },
    ],
    [
      'an option in place of a time',
      {
        kind: 'log.replay',
        input: { topic: 'events.raw', from: '--into=x', to: '2026-11-23T00:00:00Z', dry_run: true },
      },
    ],
    ['a kind that is none', { kind: 'log.grow', input: {} }],
  ])('refuses %s', async (_, body) => {
    const { answer, asked } = await ask(body, { isOperator: true });
    expect(answer).toMatchObject({ ok: false });
    expect(asked).toEqual([]);
  });

  it('takes a text with a backslash as it is', async () => {
    const name = String.raw`sara\u0000`;
    expect((await ask(erase(name))).asked).toEqual([erase(name)]);
  });
});
