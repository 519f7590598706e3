import { expect, test } from 'vitest';
import { systemResolve, type Asking } from './resolve.ts';

const never = new Promise<never>(() => undefined);

/** Name servers that answer so. */
function servers(v4: Promise<string[]>, v6: Promise<string[]>): Asking {
  const answer = (found: Promise<string[]>) => () => found;
  return { resolve4: answer(v4), resolve6: answer(v6) } as unknown as Asking;
}

const resolve = (v4: Promise<string[]>, v6: Promise<string[]>) =>
  systemResolve(() => false, servers(v4, v6))('a.example');
const missing = (name: string) =>
  Promise.reject<string[]>(
    Object.assign(new Error(`${name} ENOTFOUND a.example`), { code: 'ENOTFOUND' }),
  );

test('addresses of both families are returned', async () => {
  const found = await resolve(
    Promise.resolve(['1.1.1.1', '1.0.0.1']),
    Promise.resolve(['2606:4700::1111']),
  );
  expect(found).toEqual([
    { address: '1.1.1.1', family: 4 },
    { address: '1.0.0.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('one family suffices when the query for the other one is never answered', async () => {
  expect(await resolve(Promise.resolve(['1.1.1.1']), missing('queryAaaa'))).toEqual([
    { address: '1.1.1.1', family: 4 },
  ]);
  expect(await resolve(missing('queryA'), Promise.resolve(['2606:4700::1111']))).toEqual([
    { address: '2606:4700::1111', family: 6 },
  ]);
  expect(await resolve(never, Promise.resolve(['2606:4700::1111']))).toEqual([
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('an unknown name is an error', async () => {
  await expect(resolve(missing('queryA'), missing('queryAaaa'))).rejects.toThrow(
    'queryA ENOTFOUND a.example',
  );
  await expect(resolve(Promise.resolve([]), Promise.resolve([]))).rejects.toThrow(
    'a.example has no address',
  );
});

test('an address resolves to itself, and a name of this machine is resolved by the system', async () => {
  const without = servers(never, never);
  expect(await systemResolve(() => false, without)('127.0.0.1')).toEqual([
    { address: '127.0.0.1', family: 4 },
  ]);
  expect((await systemResolve(() => false, without)('localhost')).length).toBeGreaterThan(0);
});
