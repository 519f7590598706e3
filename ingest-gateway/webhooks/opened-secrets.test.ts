import { expect, it } from 'vitest';
import { SealError } from '../../platform/sealing.ts';
import { OpenedSecrets } from './opened-secrets.ts';

const [SEALED, OTHER] = [Buffer.from([1, 200, 3]), Buffer.from([1, 200, 4])];

it('a secret is opened once for its sealed bytes and purpose, and a failure each time', () => {
  const opened: string[] = [];
  const secrets = new OpenedSecrets({
    open: (sealed, purpose) => {
      opened.push(`${sealed.at(-1)} ${purpose}`);
      if (purpose === 'wrong') throw new SealError('wrong_seal', 'no');
      return `secret of ${purpose}`;
    },
  });
  for (let time = 0; time < 3; time++) {
    expect(secrets.open(SEALED, 'a')).toBe('secret of a');
    expect(secrets.open(SEALED, 'b')).toBe('secret of b');
    expect(secrets.open(OTHER, 'a')).toBe('secret of a');
    expect(() => secrets.open(SEALED, 'wrong')).toThrow(SealError);
  }
  expect(opened).toEqual(['3 a', '3 b', '4 a', ...Array<string>(3).fill('3 wrong')]);
});

it('the oldest secrets leave when there are too many', () => {
  let opened = 0;
  const secrets = new OpenedSecrets({ open: () => `secret ${opened++}` });
  for (let n = 0; n < 20_000; n++) secrets.open(SEALED, String(n));
  secrets.open(SEALED, '0');
  expect(opened).toBe(20_001);
});
