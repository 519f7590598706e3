import { describe, expect, it } from 'vitest';
import { HostChoice } from './host-choice.ts';

const hosts = ['a', 'b', 'c'].map((host) => ({ host, port: 8123 }));
const names = (choice: HostChoice) => choice.order().map(({ host }) => host);

describe('the order in which hosts are tried', () => {
  it('is the given one, with hosts that failed last, the one that failed longest ago first', () => {
    let now = 0;
    const choice = new HostChoice(hosts, () => now);
    expect(names(choice)).toEqual(['a', 'b', 'c']);
    if (hosts[0]) choice.failed(hosts[0]);
    now = 1000;
    if (hosts[1]) choice.failed(hosts[1]);
    expect(names(choice)).toEqual(['c', 'a', 'b']);
  });

  it('is the given one again half a minute after the failure', () => {
    let now = 0;
    const choice = new HostChoice(hosts, () => now);
    if (hosts[0]) choice.failed(hosts[0]);
    now = 29_999;
    expect(names(choice)).toEqual(['b', 'c', 'a']);
    now = 30_000;
    expect(names(choice)).toEqual(['a', 'b', 'c']);
  });
});
